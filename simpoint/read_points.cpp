#include "simpoint/read_points.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/user_error.h"
#include "simpoint/read_lines.h"

namespace simrun::simpoint {

namespace {

// Lines of two numbers, the second a cluster: cluster -> first.
template <class T>
std::map<uint32_t, T> read_pairs(const std::string& path, const char* what) {
  LineReader lines(path);
  std::map<uint32_t, T> pairs;
  std::string line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const char* const end = line.data() + line.size();
    T first{};
    uint32_t cluster = 0;
    auto [at, first_error] = std::from_chars(line.data(), end, first);
    if (first_error != std::errc() || at == end || (*at != ' ' && *at != '\t'))
      lines.fail(fmt::format("expected `<{}> <cluster>`", what));
    while (at != end && (*at == ' ' || *at == '\t')) ++at;
    auto [behind, cluster_error] = std::from_chars(at, end, cluster);
    while (behind != end && (*behind == ' ' || *behind == '\t' || *behind == '\r')) ++behind;
    if (cluster_error != std::errc() || behind != end) lines.fail(fmt::format("expected `<{}> <cluster>`", what));
    if (!pairs.emplace(cluster, first).second) lines.fail(fmt::format("cluster {} for the second time", cluster));
  }
  if (pairs.empty()) throw UserError(path + ": nothing in it");
  return pairs;
}

}  // namespace

std::vector<SimulationPoint> read_points(const std::string& points_path, const std::string& weights_path) {
  const auto intervals = read_pairs<uint64_t>(points_path, "interval");
  const auto weights = read_pairs<double>(weights_path, "weight");
  std::vector<SimulationPoint> points;
  double sum = 0;
  for (const auto& [cluster, interval] : intervals) {
    const auto weight = weights.find(cluster);
    if (weight == weights.end())
      throw UserError(fmt::format("cluster {} of {} has no weight in {}", cluster, points_path, weights_path));
    if (!(weight->second >= 0) || !std::isfinite(weight->second))
      throw UserError(fmt::format("{}: cluster {} weighs {}", weights_path, cluster, weight->second));
    points.push_back({interval, cluster, weight->second});
    sum += weight->second;
  }
  if (weights.size() != intervals.size())
    throw UserError(
        fmt::format("{} has {} clusters, {} has {}", points_path, intervals.size(), weights_path, weights.size()));
  if (!(sum > 0)) throw UserError(weights_path + ": the weights sum to nothing");
  for (SimulationPoint& point : points) point.weight /= sum;
  return points;
}

}  // namespace simrun::simpoint
