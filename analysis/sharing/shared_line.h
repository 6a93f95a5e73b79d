// A line that several threads used, as the model counted it, with what its bytes and instructions belonged to then: the
// input of the sharing table. The words are those of docs/cache-model.md.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory/address_space.h"

namespace simrun::analysis {

// One instruction of one thread that touched the same bytes, counted from when a second thread touched the line.
struct LineUse {
  const AddressSpace* space = nullptr;         // of the process that the thread is of
  uint32_t thread = 0;
  uint64_t pc = 0;
  uint32_t offset = 0, bytes = 0;              // within the line
  Place code, data;                            // when it was first counted
  uint64_t reads = 0, writes = 0;              // a read-modify-write is both
  uint64_t prefetches = 0, fetches = 0;        // by instructions that prefetch; of instructions
  uint64_t false_misses = 0, true_misses = 0;  // coherence misses in level 1
  uint64_t upgrades = 0;                       // writes that took the copies of others away
  uint64_t transfers = 0;                      // answered by modified data of another cache (HITM)
};

struct SharedLine {
  uint64_t address = 0;
  uint64_t false_misses = 0, true_misses = 0, upgrades = 0, transfers = 0;
  uint64_t stall_cycles = 0;  // estimate
  std::vector<LineUse> uses;

  uint64_t misses() const { return false_misses + true_misses; }
};

}  // namespace simrun::analysis
