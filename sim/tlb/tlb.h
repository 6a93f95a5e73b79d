// The translation look-aside buffers of one core: two of the first level, for fetches and data, and one of the second
// for both (optional). LRU; a page that misses is put into both levels; the second level includes nothing and excludes
// nothing. Works on page numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/build/machine_config.h"
#include "sim/cache/cache.h"
#include "sim/stats/statistics.h"

namespace simrun::sim {

class Tlb {
 public:
  explicit Tlb(const TlbConfig& config)
      : instruction_{make(config.instruction), {}, kNoLine}, data_{make(config.data), {}, kNoLine} {
    if (config.second.entries != 0) second_.emplace(make(config.second));
  }

  void access(bool is_fetch, uint64_t page) {
    First& first = is_fetch ? instruction_ : data_;
    ++first.counts.accesses;
    if (first.last == page) return;  // still the most recent
    first.last = page;
    if (touch_or_put(first.pages, page)) return;
    ++first.counts.misses;
    if (!second_ || !touch_or_put(*second_, page)) ++first.counts.walks;
  }
  void archive(StateArchive& a) {
    for (First* first : {&instruction_, &data_}) {
      first->pages.archive(a);
      a.value(first->last);
    }
    if (second_) second_->archive(a);
  }
  const TlbCounts& fetches() const { return instruction_.counts; }
  const TlbCounts& data() const { return data_.counts; }

 private:
  struct First {
    Cache pages;
    TlbCounts counts;
    uint64_t last;
  };
  static Cache make(const TlbShape& shape) {
    return Cache({.name = "TLB", .sets = shape.entries / shape.ways, .ways = shape.ways, .children = 1});
  }
  static bool touch_or_put(Cache& pages, uint64_t page) {
    const Slot slot = pages.find(page);
    if (slot != kNoSlot) {
      pages.touch(slot);
      return true;
    }
    const Slot victim = pages.victim(page);
    if (pages.line(victim) != kNoLine) pages.remove(victim);
    pages.fill(victim, page, State::kShared, kNoSlot);
    return false;
  }

  First instruction_, data_;
  std::optional<Cache> second_;
};

}  // namespace simrun::sim
