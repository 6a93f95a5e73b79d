// What a simulation counted, as plain values for reports. docs/cache-model.md defines each word. Events, no units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/stats/cache_details.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

// Accesses of one line each, by what asked for them.
struct AccessCounts {
  uint64_t fetches = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;      // stores and read-modify-writes
  uint64_t prefetches = 0;  // software prefetches: not demand
  uint64_t read_modify_writes = 0;  // of the writes

  uint64_t demand() const { return fetches + reads + writes; }
  bool operator==(const AccessCounts&) const = default;
  AccessCounts& operator+=(const AccessCounts& o) {
    fetches += o.fetches, reads += o.reads, writes += o.writes, prefetches += o.prefetches;
    read_modify_writes += o.read_modify_writes;
    return *this;
  }
};

inline uint64_t all(const AccessCounts& c) { return c.demand() + c.prefetches; }

inline AccessCounts operator-(const AccessCounts& a, const AccessCounts& b) {
  return {a.fetches - b.fetches, a.reads - b.reads, a.writes - b.writes, a.prefetches - b.prefetches, a.read_modify_writes - b.read_modify_writes};
}

struct RequestStatistics {
  AccessCounts accesses;
  AccessCounts misses;

  AccessCounts hits() const { return accesses - misses; }
  bool operator==(const RequestStatistics&) const = default;
  RequestStatistics& operator+=(const RequestStatistics& o) {
    accesses += o.accesses, misses += o.misses;
    return *this;
  }
};

// One cache, or the sum over the caches of a level.
struct CacheStatistics {
  RequestStatistics requests;
  uint64_t evictions = 0;               // lines replaced to make room
  uint64_t write_backs_out = 0;         // modified lines handed toward memory, for whatever reason
  uint64_t write_backs_in = 0;          // modified lines taken from caches nearer the core
  uint64_t back_invalidations = 0;      // lines lost because a level toward memory evicted them
  uint64_t flushed_lines = 0;           // lines lost to a flush
  uint64_t upgrades = 0;                // writes that found the line Shared here: permission asked, no data
  uint64_t invalidations_sent = 0;      // to caches directly above, as their directory
  uint64_t invalidations_received = 0;  // lines lost because another cache wants to write
  uint64_t downgrades = 0;              // Exclusive or Modified became Shared because another cache reads
  uint64_t interventions = 0;           // another cache's request found the line Exclusive or Modified here
  uint64_t dirty_interventions = 0;     // ... of these, with modified data: cache-to-cache transfers
  uint64_t clean_supplies = 0;          // another cache's request was answered with unmodified, Shared data from here
  uint64_t supplied_by_children = 0;    // misses that a cache directly above answered, as this one does not include it
  uint64_t victims_in = 0;              // lines taken from above because they left there (exclusive)
  uint64_t writes_passed_on = 0;        // writes handed toward memory (write-through, no allocation)
  uint64_t snoops_sent = 0;             // to caches directly above, when requests are not sent by a directory
  // By the prefetchers of this cache; docs/cache-model.md.
  uint64_t prefetches_issued = 0;
  uint64_t prefetches_redundant = 0;  // wanted, but the line was here
  uint64_t prefetches_useful = 0;     // issued, and used before the line was lost
  uint64_t prefetches_late = 0;       // of these, used before the data would have come
  uint64_t prefetches_unused = 0;     // issued, and lost unused

  bool operator==(const CacheStatistics&) const = default;
  CacheStatistics& operator+=(const CacheStatistics& o);
  CacheStatistics& operator-=(const CacheStatistics& o);
};

struct CacheInstanceStatistics {
  std::string name;         // "L2.3"
  uint32_t first_core = 0;  // it serves the cores [first_core, first_core + by_core.size())
  CacheStatistics total;
  std::vector<RequestStatistics> by_core;
  // Lines that left, by the number of caches directly above that had them meanwhile; empty with fewer than two of them.
  std::vector<uint64_t> sharing_degrees;
  std::optional<CacheDetails> details;  // when they are kept

  bool operator==(const CacheInstanceStatistics&) const = default;
};

// A unified level, or one half of a split level.
struct LevelStatistics {
  std::string name;    // "L1I", "L1D", "L2"
  uint32_t level = 0;  // 1 is nearest the core; the halves of a split level share it
  Side side = Side::kUnified;
  CacheStatistics total;
  std::vector<CacheInstanceStatistics> caches;
  std::optional<CacheDetails> details;  // sum over the caches

  bool operator==(const LevelStatistics&) const = default;
};

// One core's fetches or data at its first-level TLB.
struct TlbCounts {
  uint64_t accesses = 0;  // lines
  uint64_t misses = 0;    // of the first level
  uint64_t walks = 0;     // of these, also of the second

  bool operator==(const TlbCounts&) const = default;
  TlbCounts& operator+=(const TlbCounts& o) {
    accesses += o.accesses, misses += o.misses, walks += o.walks;
    return *this;
  }
  TlbCounts& operator-=(const TlbCounts& o) {
    accesses -= o.accesses, misses -= o.misses, walks -= o.walks;
    return *this;
  }
};

// References as the program made them: one that crosses lines counts once here and once per line in level 1.
struct CoreStatistics {
  uint64_t fetches = 0;
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t read_modify_writes = 0;
  uint64_t prefetches = 0;
  uint64_t flushes = 0;
  uint64_t line_crossings = 0;  // additional lines of references that cross lines, all kinds
  // Accesses by the level that answered: [0] is level 1 (hits), the last is memory. What another cache handed over
  // counts at the level where the request found that out.
  std::vector<AccessCounts> served;
  AccessCounts handed_over;        // of these, by another cache
  std::vector<uint64_t> upgrades;  // of level 1, by the level that had the permission; indices as in `served`
  TlbCounts fetch_tlb, data_tlb;   // all 0 without TLBs

  bool operator==(const CoreStatistics&) const = default;
  CoreStatistics& operator+=(const CoreStatistics& o);
  CoreStatistics& operator-=(const CoreStatistics& o);  // an earlier state of the same
};

struct MemoryStatistics {
  uint64_t reads = 0;               // lines read
  uint64_t writes = 0;              // lines written back
  uint64_t invalidations_sent = 0;  // by the directory at memory (only when the last level is not one cache)
  uint64_t snoops_sent = 0;         // to the caches of the last level

  bool operator==(const MemoryStatistics&) const = default;
  MemoryStatistics& operator+=(const MemoryStatistics& o) {
    reads += o.reads, writes += o.writes, invalidations_sent += o.invalidations_sent, snoops_sent += o.snoops_sent;
    return *this;
  }
  MemoryStatistics& operator-=(const MemoryStatistics& o) {
    reads -= o.reads, writes -= o.writes, invalidations_sent -= o.invalidations_sent, snoops_sent -= o.snoops_sent;
    return *this;
  }
};

// Lines that caches handed over to a core's request: modified ones, and others where no array further on answers.
struct Transfer {
  uint32_t to = 0;    // core
  uint32_t from = 0;  // the first core of the cache
  uint64_t lines = 0;

  bool operator==(const Transfer&) const = default;
};
// Both by `to`, then `from`; what was there earlier is there now.
void subtract_transfers(std::vector<Transfer>& from, const std::vector<Transfer>& earlier);

struct Statistics {
  std::vector<LevelStatistics> levels;  // from the core toward memory; a split level gives instruction, then data
  std::vector<CoreStatistics> cores;
  std::vector<CoreStatistics> threads;  // the same by the thread that ran on the core (Hierarchy::run_thread)
  MemoryStatistics memory;
  std::vector<Transfer> transfers;  // by `to`, then `from`; none with 0 lines

  bool operator==(const Statistics&) const = default;
  // Of the same machine, or of slices of it.
  Statistics& operator+=(const Statistics& o);
  // An earlier state of the same, without details.
  Statistics& operator-=(const Statistics& earlier);
};

}  // namespace simrun::sim
