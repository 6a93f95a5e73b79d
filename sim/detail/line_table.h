// What is known of each line that was referenced: by whom, which bytes, and the coherence misses that it cost in the
// caches of level 1. The raw material of the sharing table. Kept on request (Hierarchy::keep_details), as it takes
// memory in proportion to the lines that the program touches and a look-up per reference.
//
// True and false sharing by the definition of Dubois et al. (ISCA 1993), per byte: a miss on a line that the cache lost
// because another core wrote is *true* sharing if, before the cache loses the line again, the core touches a byte that
// another core wrote since the last such miss that was essential; else it is *false*. Until that touch it counts as
// false, so the counts are right at any time for what has happened so far. A store of a byte that another core wrote is
// a touch as well as a load (their definition has loads only): padding would not remove that miss.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/detail/byte_mask.h"
#include "sim/detail/latency_cycles.h"
#include "sim/detail/origin.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

// Misses and other costs of sharing, of whatever they are counted for.
struct SharingCounts {
  uint64_t true_sharing = 0;     // level-1 misses
  uint64_t false_sharing = 0;    // level-1 misses
  uint64_t upgrades = 0;         // writes that found the line Shared in level 1
  uint64_t dirty_transfers = 0;  // references that another cache's modified data answered (HITM)

  uint64_t coherence_misses() const { return true_sharing + false_sharing; }
  SharingCounts& operator+=(const SharingCounts& o) {
    true_sharing += o.true_sharing, false_sharing += o.false_sharing;
    upgrades += o.upgrades, dirty_transfers += o.dirty_transfers;
    return *this;
  }
  bool operator==(const SharingCounts&) const = default;
};

// One thread's use of a line, from the first reference on. Instruction fetches and software prefetches are not uses.
struct ThreadUse {
  uint32_t thread = 0, process = 0;
  uint64_t reads = 0, writes = 0;  // a read-modify-write is a write
  ByteMask read_bytes, written_bytes;
  SharingCounts sharing;
};

// One instruction of one thread that touches the same bytes of the line, or fetches or prefetches them. Kept from the moment when a second thread
// touches the line, or fetches or prefetches what another thread has touched: counts before are in ThreadUse only. Of a thread's fetches there is one,
// from the first place.
struct Site {
  Origin origin;
  uint16_t offset = 0, bytes = 0;  // within the line
  Access kind = Access::kLoad;
  uint64_t references = 0;
  SharingCounts sharing;
};

struct LineRecord {
  uint64_t line = kNoLine;
  SharingCounts sharing;
  std::array<uint64_t, kMaxLevels> misses{};  // by level, from level 1; prefetches of caches are not counted
  LatencyCycles latency;
  std::vector<ThreadUse> threads;
  std::vector<Site> sites;
};

// One access of a line that missed somewhere or had to ask for permission to write, counted in the line's record.
struct Miss {
  const LineRecord& line;
  uint32_t offset;                          // of its first byte in the line
  uint32_t site;                            // LineTable::kNoSite: none
  Access kind;
  std::array<bool, kMaxLevels> misses;      // by level, from level 1
  bool is_coherence_miss;                   // in level 1
  bool is_upgrade;                          // likewise
  LatencyCycles latency;
};

// Is told of each new site and of each miss as it happens: what the addresses belong to may be another thing later.
class SiteObserver {
 public:
  virtual void new_site(const LineRecord& line, uint32_t site) = 0;
  virtual void missed(const Miss&) {}

 protected:
  ~SiteObserver() = default;
};

class LineTable {
 public:
  // The record of `line`, made when there is none. It does not move.
  LineRecord& operator[](uint64_t line) {
    LineRecord& record = records_[line];
    record.line = line;
    return record;
  }
  const LineRecord* find(uint64_t line) const {
    const auto position = records_.find(line);
    return position == records_.end() ? nullptr : &position->second;
  }
  size_t size() const { return records_.size(); }
  const std::unordered_map<uint64_t, LineRecord>& all() const { return records_; }

  // Adds a reference to its thread and, once the line has two threads, to its site (else the site is kNoSite).
  static constexpr uint32_t kNoSite = ~uint32_t{0};
  struct Place {
    uint32_t thread, site;  // indices into the record
  };
  Place add(LineRecord& record, const Origin& origin, Access kind, uint32_t offset, uint32_t bytes, const ByteMask& mask);

  // The `limit` lines with the most coherence misses (then upgrades), the worst first; lines without either are left
  // out. `before` of equal lines: the lower number.
  std::vector<const LineRecord*> worst(size_t limit) const;
  // Lines that at least two threads used, at least one of them writing, in order of line number.
  std::vector<const LineRecord*> shared() const;

 private:
  // Of a site of a line, or, with the thread only, of a thread's use of it.
  struct Key {
    uint64_t line, pc;
    uint32_t thread;
    uint16_t offset, bytes;
    Access kind;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  using Table = std::unordered_map<Key, uint32_t, Hash>;

  // Index of that of a record's `entries` for which `is_it` holds, `others` being the table of those behind the first few; their number: none.
  template <class Entry, class Is>
  static uint32_t find(const std::vector<Entry>& entries, const Table& others, const Key& key, Is is_it);

  uint32_t find_use(const LineRecord& record, uint32_t thread) const;
  uint32_t use_of(LineRecord& record, const Origin& origin);
  uint32_t site_of(LineRecord& record, const Origin& origin, Access kind, uint32_t offset, uint32_t bytes);

  std::unordered_map<uint64_t, LineRecord> records_;
  // Where the uses and sites behind the first few of a record are: of a line that all of a thousand threads touch there are thousands.
  Table uses_, sites_;
};

}  // namespace simrun::sim
