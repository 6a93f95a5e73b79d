// What the counters of a superblock say (count mode, docs/count-mode.md). Counter k has how often the k-th block of the
// superblock began, behind path k - 1: whoever began it and not the next took path k.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "instr/channel/mapped_process.h"

namespace simrun::channel {

struct PathCount {
  uint32_t path;
  uint64_t executions;
};

// The payload of one kPathCounts. No path twice. Throws StreamError.
std::vector<PathCount> path_counts(const MappedProcess& process, std::span<const uint64_t> payload);

// What the counters of a slot hold that was in no report. The process is dead, or the thread has ended.
std::vector<PathCount> left_in_counters(const MappedProcess& process, uint32_t slot);

}  // namespace simrun::channel
