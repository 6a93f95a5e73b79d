#include "simpoint/simulation_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/user_error.h"

namespace simrun::simpoint {

namespace {

uint64_t representative(const Clustering& clustering, const std::vector<uint64_t>& members, const SelectionOptions& options) {
  std::vector<double> distances;
  for (const uint64_t i : members) distances.push_back(std::sqrt(clustering.distances[i]));
  const double nearest = *std::min_element(distances.begin(), distances.end());
  double most = nearest;
  const bool takes_middle = options.middle_of_equals && options.early == 0;
  if (options.early > 0) {
    std::vector<double> sorted = distances;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    most += options.early * (*middle - nearest);
  } else if (takes_middle) {
    constexpr double kRounding = 1e-6;   // coordinates are of single precision, and at most 1
    most += kRounding;
  }
  std::vector<uint64_t> near_enough;
  for (size_t i = 0; i < members.size(); ++i)
    if (distances[i] <= most) near_enough.push_back(members[i]);
  return near_enough[takes_middle ? near_enough.size() / 2 : 0];
}

// Of intervals, by weight, those that are not shorter than half of the usual one: what is left at the end of a run can be a thousandth of an
// interval, and mostly the end.
std::vector<uint64_t> without_short(std::vector<uint64_t> intervals, std::span<const double> weights) {
  std::vector<double> sorted;
  for (const uint64_t i : intervals) sorted.push_back(weights[i]);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double least = *middle / 2;
  std::erase_if(intervals, [&](uint64_t i) { return weights[i] < least; });
  return intervals;
}

// Of each cluster, those that may stand for it: all that are not short when those that are not avoided are all farther from its centre
// than the cluster is on average.
std::vector<std::vector<uint64_t>> members_of(const Clustering& clustering, std::span<const double> weights,
                                              const std::vector<bool>& avoided) {
  struct Cluster {
    std::vector<uint64_t> all;
    double weight = 0, spread = 0;   // squared distances
  };
  std::vector<Cluster> clusters(clustering.k());
  for (size_t i = 0; i < clustering.labels.size(); ++i) {
    Cluster& c = clusters[clustering.labels[i]];
    c.all.push_back(i);
    c.weight += weights[i], c.spread += weights[i] * clustering.distances[i];
  }
  std::vector<std::vector<uint64_t>> made;
  constexpr double kRounding = 1 + 1e-9;
  for (Cluster& c : clusters) {
    if (c.all.empty()) {
      made.emplace_back();
      continue;
    }
    std::vector<uint64_t> all = without_short(std::move(c.all), weights), preferred;
    double nearest = std::numeric_limits<double>::infinity();
    for (const uint64_t i : all) {
      if (i < avoided.size() && avoided[i]) continue;
      preferred.push_back(i);
      nearest = std::min(nearest, double{clustering.distances[i]});
    }
    made.push_back(nearest * c.weight <= c.spread * kRounding ? std::move(preferred) : std::move(all));
  }
  return made;
}

}  // namespace

std::vector<SimulationPoint> select_points(const Clustering& clustering, std::span<const double> weights,
                                           const SelectionOptions& options) {
  if (!(options.early >= 0 && options.early <= 1))
    throw UserError(fmt::format("early {}: from 0 to 1", options.early), 2);
  const std::vector<std::vector<uint64_t>> members = members_of(clustering, weights, options.avoided);
  std::vector<double> weight(clustering.k(), 0.0);
  for (size_t i = 0; i < weights.size(); ++i) weight[clustering.labels[i]] += weights[i];
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<SimulationPoint> points;
  for (uint32_t c = 0; c < clustering.k(); ++c)
    if (!members[c].empty())
      points.push_back({representative(clustering, members[c], options), c, weight[c] / all});
  return points;
}

std::vector<SimulationPoint> cover(std::vector<SimulationPoint> points, double coverage) {
  if (!(coverage > 0 && coverage <= 1)) throw UserError(fmt::format("coverage {}: above 0, at most 1", coverage), 2);
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  double sum = 0;
  size_t kept = 0;
  // A rounding error of the sum must not ask for one cluster more.
  while (kept < points.size() && (kept == 0 || sum < coverage - 1e-9)) sum += points[kept++].weight;
  points.resize(kept);
  for (SimulationPoint& point : points) point.weight /= sum;
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.cluster < b.cluster; });
  return points;
}

double covered_part(std::span<const SimulationPoint> all, std::span<const SimulationPoint> covered) {
  if (covered.size() == all.size()) return 1;
  double part = 0, whole = 0;
  for (const SimulationPoint& point : all) {
    whole += point.weight;
    const bool is_in = std::any_of(covered.begin(), covered.end(), [&](const SimulationPoint& other) { return other.cluster == point.cluster; });
    if (is_in) part += point.weight;
  }
  return part / whole;
}

namespace {

// `counts`: points by cluster, instead of the one in `points`; at most one for each interval. One from the middle of each of so many
// parts of equal weight.
std::vector<SimulationPoint> divide(std::span<const SimulationPoint> points, const std::vector<std::vector<uint64_t>>& members,
                                    std::span<const double> weights, std::span<const uint64_t> counts) {
  std::vector<SimulationPoint> made;
  for (const SimulationPoint& point : points) {
    const std::vector<uint64_t>& own = members[point.cluster];
    const uint64_t count = std::min<uint64_t>(counts[point.cluster], own.size());
    if (count <= 1) {
      made.push_back(point);
      continue;
    }
    double all = 0, before = 0;
    for (const uint64_t i : own) all += weights[i];
    const double part = all / static_cast<double>(count);
    uint64_t taken = 0;
    // Of two that meet in the middle of a part the later one, whatever the rounding.
    const auto middle = [&] { return (static_cast<double>(taken) + 0.5) * part + 1e-9 * all; };
    for (const uint64_t i : own) {
      before += weights[i];
      if (taken == count || before <= middle()) continue;
      made.push_back({i, point.cluster, 0});
      // An interval that fills several parts stands for all of them.
      for (; taken < count && before > middle(); ++taken)
        made.back().weight += point.weight / static_cast<double>(count);
    }
  }
  return made;
}

// By cluster: whether it is mixed and has a point, and what it weighs, alone and times how far its intervals are from its centre.
struct Mixture {
  std::vector<uint32_t> points;
  std::vector<double> weight, spread;
  double all = 0, mixed_from;   // distance

  Mixture(const Clustering& clustering, std::span<const double> weights, std::span<const SimulationPoint> chosen, double length)
      : points(clustering.k()), weight(clustering.k()), spread(clustering.k()), mixed_from(kMixed * length) {
    for (const SimulationPoint& point : chosen) ++points[point.cluster];
    for (size_t i = 0; i < weights.size(); ++i) {
      weight[clustering.labels[i]] += weights[i];
      spread[clustering.labels[i]] += weights[i] * std::sqrt(clustering.distances[i]);
    }
    all = std::accumulate(weight.begin(), weight.end(), 0.0);
  }
  bool is_mixed(uint32_t k) const { return spread[k] > mixed_from * weight[k]; }
  // Of those that `has` says: whether they are worth more points, or to be said.
  template <typename Has>
  bool matters(Has&& has) const {
    constexpr double kTenth = 0.1;
    double theirs = 0;
    for (uint32_t k = 0; k < weight.size(); ++k) theirs += is_mixed(k) && has(points[k]) ? weight[k] : 0;
    return theirs >= kTenth * all;
  }
};

}  // namespace

std::vector<SimulationPoint> spread(const Clustering& clustering, std::span<const double> weights,
                                    std::span<const SimulationPoint> points, uint64_t total,
                                    const std::vector<bool>& avoided) {
  if (total <= points.size()) return {points.begin(), points.end()};
  std::vector<uint64_t> counts(clustering.k());
  for (const SimulationPoint& point : points)
    counts[point.cluster] = static_cast<uint64_t>(std::llround(point.weight * static_cast<double>(total)));
  return divide(points, members_of(clustering, weights, avoided), weights, counts);
}

std::vector<SimulationPoint> spread_mixed(const Clustering& clustering, std::span<const double> weights,
                                          std::span<const SimulationPoint> points, double length, uint64_t most,
                                          const std::vector<bool>& avoided) {
  constexpr uint64_t kIntervalsForOne = 20;
  const uint64_t total = std::min<uint64_t>(most, weights.size() / kIntervalsForOne);
  const Mixture mixture(clustering, weights, points, length);
  if (total <= points.size() || !mixture.matters([](uint32_t chosen) { return chosen != 0; })) return {points.begin(), points.end()};
  const std::vector<std::vector<uint64_t>> members = members_of(clustering, weights, avoided);
  std::vector<uint64_t> counts(clustering.k(), 1);
  for (uint64_t given = points.size(); given < total; ++given) {   // to whom it makes the largest difference (Sainte-Lague's method)
    const auto use = [&](uint32_t k) { return mixture.spread[k] / (2.0 * static_cast<double>(counts[k]) + 1); };
    const SimulationPoint* next = nullptr;
    for (const SimulationPoint& point : points)
      if (mixture.is_mixed(point.cluster) && counts[point.cluster] < members[point.cluster].size() &&
          (next == nullptr || use(point.cluster) > use(next->cluster)))
        next = &point;
    if (next == nullptr) break;
    ++counts[next->cluster];
  }
  return divide(points, members, weights, counts);
}

std::string mixed_phases(const Clustering& clustering, std::span<const double> weights,
                         std::span<const SimulationPoint> points, double length) {
  const Mixture mixture(clustering, weights, points, length);
  const auto has_one = [](uint32_t chosen) { return chosen == 1; };
  if (!mixture.matters(has_one)) return {};
  std::vector<uint32_t> mixed;
  double theirs = 0;
  for (uint32_t k = 0; k < clustering.k(); ++k) {
    if (!mixture.is_mixed(k) || !has_one(mixture.points[k])) continue;
    mixed.push_back(k);
    theirs += mixture.weight[k];
  }
  return fmt::format("phases {} ({:.0f}% of the run) hold intervals that are not alike, and one region each: --points N gives them more",
                     fmt::join(mixed, ", "), 100 * theirs / mixture.all);
}

std::vector<double> interval_weights(std::span<const double> sums, bool fixed_length) {
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  std::vector<double> weights;
  for (const double sum : sums) weights.push_back(fixed_length ? 1 / static_cast<double>(sums.size()) : sum / all);
  return weights;
}

}  // namespace simrun::simpoint
