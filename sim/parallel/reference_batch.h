// A stretch of the one order of references on its way through a SlicedModel, as it is after the filter (hit_filter.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/cache/cache.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

// References of one core in a row.
struct Group {
  static constexpr uint32_t kSameThread = ~0u;
  uint32_t core = 0;
  uint32_t thread = kSameThread;  // else: Hierarchy::run_thread before the first of them
  bool filtered = false;          // else all of its references are listed
  uint32_t end = 0;               // behind what it listed
  uint64_t duration = 0;          // by its clock, on which it began at 0
  // All references, and those to further lines of what began on another line.
  std::array<uint64_t, kAccessKinds> accesses = {}, further = {};
};

struct Batch {
  static constexpr uint32_t kMostListed = 4096;
  static constexpr uint32_t kMostGroups = 4096;

  // What the slices have to look at: a line, and in a filtered group the time of the last one of the references in a row
  // that surely hit if the line is there then.
  std::vector<Cache::Recent> lines;
  std::vector<Access> kinds;  // of the first of them
  std::vector<Group> groups;
};

// The key of a listed line is that of level 1, with a bit that makes it answer no more. Lines have two bits to spare.
inline constexpr uint64_t kDoubtful = uint64_t{1} << 63;
constexpr uint64_t line_of(const Cache::Recent& listed) { return (listed.key & ~kDoubtful) >> 1; }

}  // namespace simrun::sim
