#include "simpoint/write_points.h"

#include <fmt/format.h>

#include <cmath>

namespace simrun::simpoint {

std::string points_text(std::span<const SimulationPoint> points) {
  std::string text;
  for (const SimulationPoint& point : points) text += fmt::format("{} {}\n", point.interval, point.cluster);
  return text;
}

std::string weights_text(std::span<const SimulationPoint> points) {
  std::string text;
  for (const SimulationPoint& point : points) text += fmt::format("{:.6g} {}\n", point.weight, point.cluster);
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
