// What accesses that level 1 did not answer, and upgrades, took: for the tables that are kept on request.
#pragma once

#include <cstdint>

#include "sim/build/machine_config.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

// Cycles from requests to their data or permission, apart by which share of them stalls a core (docs/cache-model.md,
// "Who serves whom, and cycles"). Prefetches stall nobody and are not in it.
struct LatencyCycles {
  uint64_t fetches = 0, reads = 0, writes = 0;

  uint64_t total() const { return fetches + reads + writes; }
  // Of it what the core's estimate has as `stall_cycles`, `transfer_cycles` and `upgrade_cycles`.
  double stalls(const CoreConfig& core) const {
    return static_cast<double>(fetches) * core.fetch_exposed + static_cast<double>(reads) * core.read_exposed +
           static_cast<double>(writes) * core.write_exposed;
  }
  // Until data came.
  void add(Access kind, uint64_t cycles) {
    if (kind == Access::kPrefetch) return;
    (kind == Access::kStore ? writes : kind == Access::kFetch ? fetches : reads) += cycles;  // a read-modify-write needs its data first
  }
  LatencyCycles& operator+=(const LatencyCycles& o) {
    fetches += o.fetches, reads += o.reads, writes += o.writes;
    return *this;
  }
  bool operator==(const LatencyCycles&) const = default;
};

}  // namespace simrun::sim
