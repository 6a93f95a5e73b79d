#include "instr/channel/path_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "instr/channel/stream_error.h"

namespace simrun::channel {

using namespace border;

namespace {

bool is_next_path(const MappedProcess& process, uint64_t path, uint64_t next) {
  return next == path + 1 &&
         process.path(static_cast<uint32_t>(next)).superblock == process.path(static_cast<uint32_t>(path)).superblock;
}

}  // namespace

std::vector<PathCount> path_counts(const MappedProcess& process, std::span<const uint64_t> payload) {
  std::vector<PathCount> result;
  result.reserve(payload.size());
  const uint32_t paths = process.paths();
  for (size_t i = 0; i < payload.size(); ++i) {
    const auto path = static_cast<uint32_t>(payload[i]);
    if (path < kFirstPath || path >= paths) throw StreamError(fmt::format("a count of path {}: there is none", path));
    uint64_t executions = payload[i] >> 32;
    if (i + 1 < payload.size() && is_next_path(process, path, static_cast<uint32_t>(payload[i + 1]))) {
      const uint64_t went_on = payload[i + 1] >> 32;
      if (went_on > executions)
        throw StreamError(fmt::format("path {} began {} times and went on {} times", path, executions, went_on));
      executions -= went_on;
    }
    if (executions != 0) result.push_back({path, executions});
  }
  return result;
}

std::vector<PathCount> left_in_counters(const MappedProcess& process, uint32_t slot) {
  const uint32_t* const counters = process.counters(slot);
  if (counters == nullptr) return {};
  std::vector<PathCount> result;
  const uint32_t paths = process.paths();
  for (uint32_t k = kFirstPath; k < paths; ++k) {
    if (counters[k] == 0) continue;
    const bool goes_on = k + 1 < paths && is_next_path(process, k, k + 1);
    // Killed amid a report or a fault, when some of a superblock's counters have been lowered: the next may be ahead.
    const uint32_t executions = counters[k] - (goes_on ? std::min(counters[k], counters[k + 1]) : 0);
    if (executions != 0) result.push_back({k, executions});
  }
  return result;
}

}  // namespace simrun::channel
