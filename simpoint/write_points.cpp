#include "simpoint/write_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace simrun::simpoint {

namespace {

bool are_numbered(std::span<const SimulationPoint> points) {
  const auto same = [](const SimulationPoint& a, const SimulationPoint& b) { return a.cluster == b.cluster; };
  return std::adjacent_find(points.begin(), points.end(), same) != points.end();
}

std::vector<size_t> labels_of(std::span<const SimulationPoint> points) {
  const bool numbered = are_numbered(points);
  std::vector<size_t> labels;
  for (size_t i = 0; i < points.size(); ++i) labels.push_back(numbered ? i : points[i].cluster);
  return labels;
}

// By interval: the point that stands for it.
std::vector<size_t> numbers_of(const Clustering& clustering, std::span<const double> weights, std::span<const SimulationPoint> points) {
  struct Share {
    size_t first = 0, count = 0;           // its points
    double points = 0, all = 0, before = 0;   // weights: of these, of its intervals, of those that have been seen
  };
  std::vector<Share> shares(clustering.k());
  for (size_t i = points.size(); i-- > 0;) {
    Share& share = shares[points[i].cluster];
    share.first = i, ++share.count, share.points += points[i].weight;
  }
  size_t next = points.size();
  for (Share& share : shares)
    if (share.count == 0) share.first = next++;
  for (size_t i = 0; i < weights.size(); ++i) shares[clustering.labels[i]].all += weights[i];
  std::vector<size_t> numbers;
  for (size_t i = 0; i < weights.size(); ++i) {
    Share& share = shares[clustering.labels[i]];
    const double middle = (share.before + weights[i] / 2) / share.all;
    share.before += weights[i];
    size_t number = share.first;
    for (double end = 0; number + 1 < share.first + share.count; ++number)
      if (middle <= (end += points[number].weight / share.points)) break;
    numbers.push_back(number);
  }
  for (size_t i = 0; i < points.size(); ++i) numbers[points[i].interval] = i;
  return numbers;
}

}  // namespace

std::string points_text(std::span<const SimulationPoint> points) {
  const auto labels = labels_of(points);
  std::string text;
  for (size_t i = 0; i < points.size(); ++i) text += fmt::format("{} {}\n", points[i].interval, labels[i]);
  return text;
}

std::string weights_text(std::span<const SimulationPoint> points) {
  const auto labels = labels_of(points);
  std::string text;
  for (size_t i = 0; i < points.size(); ++i) text += fmt::format("{:.6g} {}\n", points[i].weight, labels[i]);
  return text;
}

std::string labels_text(const Clustering& clustering, std::span<const double> weights, std::span<const SimulationPoint> points) {
  const bool numbered = are_numbered(points);
  const std::vector<size_t> numbers = numbered ? numbers_of(clustering, weights, points) : std::vector<size_t>();
  std::string text;
  for (size_t i = 0; i < clustering.labels.size(); ++i)
    text += fmt::format("{} {:.6g}\n", numbered ? numbers[i] : clustering.labels[i], std::sqrt(clustering.distances[i]));
  return text;
}

std::string coverage_suffix(double coverage) { return fmt::format(".lpt{:g}", coverage); }

}  // namespace simrun::simpoint
