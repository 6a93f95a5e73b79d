#include "simpoint/write_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace simrun::simpoint {

namespace {

std::vector<size_t> labels_of(std::span<const SimulationPoint> points) {
  const auto same = [](const SimulationPoint& a, const SimulationPoint& b) { return a.cluster == b.cluster; };
  const bool shared = std::adjacent_find(points.begin(), points.end(), same) != points.end();
  std::vector<size_t> labels;
  for (size_t i = 0; i < points.size(); ++i) labels.push_back(shared ? i : points[i].cluster);
  return labels;
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

std::string labels_text(const Clustering& clustering) {
  std::string text;
  for (size_t i = 0; i < clustering.labels.size(); ++i)
    text += fmt::format("{} {:.6g}\n", clustering.labels[i], std::sqrt(clustering.distances[i]));
  return text;
}

std::string coverage_suffix(double coverage) { return fmt::format(".lpt{:g}", coverage); }

}  // namespace simrun::simpoint
