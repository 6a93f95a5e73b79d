#include "simpoint/choose_clustering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "base/user_error.h"
#include "simpoint/bic.h"
#include "simpoint/normal_spread.h"
#include "simpoint/random.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace simrun::simpoint {

namespace {

int threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void check_first_centres(const Points& points, const Points& first) {
  if (first.rows() == 0) return;
  if (first.cols() != points.cols())
    throw UserError(
        fmt::format("first centres have {} dimensions, the intervals have {}", first.cols(), points.cols()));
  if (!first.allFinite()) throw UserError("a first centre is not finite");
}

void check(const Points& points, std::span<const double> weights, const ClusteringOptions& o) {
  if (points.rows() == 0) throw UserError("there is no interval to cluster");
  if (weights.size() != static_cast<size_t>(points.rows()))
    throw UserError(fmt::format("{} weights for {} intervals", weights.size(), points.rows()));
  for (size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] > 0) || !std::isfinite(weights[i]))
      throw UserError(fmt::format("interval {}: weight {} (must be above 0)", i, weights[i]));
  if (!points.allFinite()) throw UserError("a point is not finite");
  if (o.seeds == 0) throw UserError("no seeds: at least one clustering for each k", 2);
  if (o.iterations == 0) throw UserError("at least one iteration", 2);
  if (!(o.threshold >= 0 && o.threshold <= 1))
    throw UserError(fmt::format("threshold {}: from 0 to 1", o.threshold), 2);
  if (!(o.least_gain >= 0)) throw UserError(fmt::format("least gain {}: 0 or more", o.least_gain), 2);
  if (o.ks.empty() ? o.max_k == 0 : *std::min_element(o.ks.begin(), o.ks.end()) == 0)
    throw UserError("k 0: at least one cluster", 2);
  check_first_centres(points, o.first_centres);
}

// Different seeds for each k and each try, from one.
uint64_t seed_of(const ClusteringOptions& o, uint32_t k, uint32_t attempt) {
  return random_at(random_at(o.seed, k), attempt);
}

struct Sample {
  Points points;
  std::vector<double> weights;
};

// Drawn without replacement, the chance of each proportional to its weight (Efraimidis and Spirakis 2006): the largest
// u^(1/w). Each drawn one then weighs the same.
Sample draw(const Points& points, std::span<const double> weights, uint64_t size, uint64_t seed) {
  std::vector<std::pair<double, size_t>> keys(weights.size());
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = {-std::log(1 - to_unit(random_at(seed, i))) / weights[i], i};  // smallest of Exp(w)
  std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(size - 1), keys.end());
  std::vector<size_t> chosen;
  for (uint64_t i = 0; i < size; ++i) chosen.push_back(keys[i].second);
  std::sort(chosen.begin(), chosen.end());
  Sample made{Points(static_cast<Eigen::Index>(size), points.cols()), std::vector<double>(size, 1.0)};
  for (size_t i = 0; i < chosen.size(); ++i)
    made.points.row(static_cast<Eigen::Index>(i)) = points.row(static_cast<Eigen::Index>(chosen[i]));
  return made;
}

class Chooser {
 public:
  Chooser(const Points& points, std::span<const double> weights, const ClusteringOptions& options,
          const OnExamined& on_examined)
      : points_(points),
        weights_(weights),
        options_(options),
        on_examined_(on_examined),
        total_(total_distortion(points, weights)) {
    if (options.sample != 0 && options.sample < weights.size())
      sample_ = draw(points, weights, options.sample, options.sample_seed);
  }

  // The best of all seeds for each of `ks` that is new. Runs side by side; the answer does not depend on how many.
  void examine(std::vector<uint32_t> ks) {
    std::erase_if(ks, [&](uint32_t k) { return examined_.contains(k); });
    for (const uint32_t k : ks) run_of_.emplace(k, static_cast<uint32_t>(run_of_.size() + 1));
    std::sort(ks.begin(), ks.end(), std::greater<>());  // the long ones first
    ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
    const size_t runs = ks.size() * options_.seeds;
    std::vector<ScoredClustering> results(runs);
    const bool outside = runs >= static_cast<size_t>(threads());
#pragma omp parallel for schedule(dynamic) if (outside)
    for (size_t run = 0; run < runs; ++run)
      results[run] = one(ks[run / options_.seeds], static_cast<uint32_t>(run % options_.seeds), !outside);
    for (size_t run = 0; run < runs; ++run) {
      const uint32_t k = ks[run / options_.seeds];
      const auto found = examined_.find(k);
      if (found == examined_.end())
        examined_.emplace(k, std::move(results[run]));
      else if (results[run].bic > found->second.bic)
        found->second = std::move(results[run]);
    }
    for (auto k = ks.rbegin(); k != ks.rend(); ++k) {
      ScoredClustering& scored = examined_.at(*k);
      scored.run = run_of_.at(*k);
      if (on_examined_) on_examined_(*k, scored.bic);
    }
  }

  // From the centres that are given.
  void examine_given() {
    ScoredClustering made = from(options_.first_centres, true);
    made.run = 1;
    examined_.emplace(made.k(), std::move(made));
  }

  double bic_of(uint32_t k) const { return examined_.at(k).bic; }

  double threshold_bic() const {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& [k, scored] : examined_) low = std::min(low, scored.bic), high = std::max(high, scored.bic);
    return low + options_.threshold * (high - low);
  }

  ClusteringChoice finish() {
    ClusteringChoice choice;
    for (auto& [k, scored] : examined_) choice.examined.push_back(std::move(scored));
    if (!is_one_phase(choice.examined, weights_.size(), options_.least_gain) && !is_one_cloud(choice.examined[0]))
      choice.chosen = choose_by_threshold(choice.examined, options_.threshold);
    choice.clustering = assign(points_, weights_, choice.examined[choice.chosen].centres, true);
    return choice;
  }

 private:
  bool is_one_cloud(const ScoredClustering& first) const {
    return first.k() == 1 && options_.least_gain > 0 && is_spread_normally(clustered());
  }

  // Of the sample if there is one, else of all.
  const Points& clustered() const { return sample_ ? sample_->points : points_; }
  std::span<const double> clustered_weights() const { return sample_ ? std::span(sample_->weights) : weights_; }

  ScoredClustering one(uint32_t k, uint32_t attempt, bool parallel) const {
    const uint64_t seed = seed_of(options_, k, attempt);
    ScoredClustering made =
        from(initial_centres(clustered(), clustered_weights(), k, options_.initialisation, seed), parallel);
    made.seed = seed;
    return made;
  }

  ScoredClustering from(Points first, bool parallel) const {
    Clustering clustering = k_means(clustered(), clustered_weights(), first, options_.iterations, parallel);
    if (sample_) clustering = assign(points_, weights_, clustering.centres, parallel);
    const double score = bic(clustering, weights_, total_);
    return {std::move(first), std::move(clustering.centres), clustering.distortion, score};
  }

  const Points& points_;
  std::span<const double> weights_;
  const ClusteringOptions& options_;
  const OnExamined& on_examined_;
  double total_;
  std::optional<Sample> sample_;
  std::map<uint32_t, ScoredClustering> examined_;
  std::map<uint32_t, uint32_t> run_of_;  // k -> ScoredClustering::run
};

// The smallest k that reaches the threshold, taking BIC to rise with k until it does.
void bisect(Chooser& chooser, uint32_t max_k) {
  chooser.examine({1, max_k});
  uint32_t below = 1, reaches = max_k;
  while (reaches - below > 1) {
    const uint32_t middle = below + (reaches - below) / 2;
    chooser.examine({middle});
    (chooser.bic_of(middle) >= chooser.threshold_bic() ? reaches : below) = middle;
  }
}

}  // namespace

namespace {

uint32_t most_searched(const ClusteringOptions& options, uint64_t intervals) {
  const uint64_t most = options.least_gain > 0 ? most_phases(intervals) : intervals;
  return static_cast<uint32_t>(std::min<uint64_t>(options.max_k, most));
}

}  // namespace

bool are_few_intervals(const ClusteringChoice& choice, const ClusteringOptions& options) {
  const uint32_t most = most_searched(options, choice.clustering.labels.size());
  return options.ks.empty() && most > 1 && most < options.max_k && choice.clustering.k() == most;
}

uint32_t greatest_k_lowered(const ClusteringChoice& choice, const ClusteringOptions& options) {
  if (options.ks.empty()) return 0;
  const uint32_t given = *std::max_element(options.ks.begin(), options.ks.end());
  return choice.examined.back().k() < given ? given : 0;
}

bool is_one_phase(std::span<const ScoredClustering> examined, size_t intervals, double least_gain) {
  const ScoredClustering& first = examined[0];
  if (first.k() != 1) return false;
  double best = first.bic;
  for (const ScoredClustering& scored : examined) best = std::max(best, scored.bic);
  const double positions = static_cast<double>(intervals) * static_cast<double>(first.centres.cols());
  return best - first.bic < least_gain * positions;
}

size_t choose_by_threshold(std::span<const ScoredClustering> examined, double threshold) {
  double low = examined[0].bic, high = low;
  for (const ScoredClustering& scored : examined) low = std::min(low, scored.bic), high = std::max(high, scored.bic);
  size_t chosen = 0;
  while (examined[chosen].bic < low + threshold * (high - low)) ++chosen;
  return chosen;
}

ClusteringChoice choose_clustering(const Points& points, std::span<const double> weights,
                                   const ClusteringOptions& options, const OnExamined& on_examined) {
  check(points, weights, options);
  uint64_t most = weights.size();
  if (options.sample != 0) most = std::min<uint64_t>(most, options.sample);
  const auto lowered = [&](uint32_t k) { return static_cast<uint32_t>(std::min<uint64_t>(k, most)); };
  const uint32_t max_k = lowered(most_searched(options, weights.size()));
  Chooser chooser(points, weights, options, on_examined);
  if (options.first_centres.rows() != 0) {
    chooser.examine_given();
  } else if (!options.ks.empty()) {
    std::vector<uint32_t> ks;
    for (const uint32_t k : options.ks) ks.push_back(lowered(k));
    chooser.examine(ks);
  } else if (options.search) {
    bisect(chooser, max_k);
  } else {
    std::vector<uint32_t> ks(max_k);
    std::iota(ks.begin(), ks.end(), 1u);
    chooser.examine(ks);
  }
  return chooser.finish();
}

}  // namespace simrun::simpoint
