// The translation look-aside buffers of one core: two of the first level, for fetches and data, and one of the second
// for both (optional). LRU; a page that misses is put into both levels; the second level includes nothing and excludes
// nothing. Works on page numbers.
//
// Every access of a core looks its page up, so the first level is kept as level 1 of the caches is: a guess, a compare,
// a store of the time (decision 22). Who has many references does that himself, by shortcut().
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "sim/build/machine_config.h"
#include "sim/cache/cache.h"
#include "sim/stats/statistics.h"

namespace simrun::sim {

class Tlb {
 public:
  explicit Tlb(const TlbConfig& config) : first_{First(config.instruction), First(config.data)} {
    if (config.second.entries != 0) second_.emplace(make(config.second, 1));
  }

  // Of the first level, for fetches or for data. Valid as long as the Tlb is where it is.
  Cache::Shortcut shortcut(bool is_fetch) { return first_[!is_fetch].pages.shortcut(); }
  // The page, if the shortcut has it, is the most recent now; else it is looked for, and comes. Counts no accesses.
  void access(bool is_fetch, uint64_t page) {
    const Cache::Shortcut pages = shortcut(is_fetch);
    Cache::Recent& recent = pages.find(page);
    if (!recent.answers(page, false)) return look_up(is_fetch, page);
    recent.used = ++*pages.clock;
  }
  // The same, when the shortcut did not have it.
  [[gnu::noinline]] void look_up(bool is_fetch, uint64_t page) {
    First& first = first_[!is_fetch];
    if (first.pages.hit_in_level1<0>(page, false).hit == Cache::Hit::kDone) return;
    const Slot victim = first.order ? first.order->oldest(first.pages) : first.pages.victim(page);
    first.pages.replace(victim, page, State::kShared, kNoSlot, [](Slot, bool, Slot) {});
    ++first.misses;
    if (second_) {
      if (const Slot slot = second_->find(page); slot != kNoSlot) return second_->touch(slot);
      put_in_second(page);
    }
    ++first.walks;
  }
  void archive(StateArchive& a) {
    for (First& first : first_) {
      first.pages.archive(a);
      if (first.order && a.reads()) first.order.emplace();
    }
    if (second_) second_->archive(a);
  }
  // `accesses`: of the core, which are as many of the first level.
  TlbCounts counts(bool is_fetch, uint64_t accesses) const {
    const First& first = first_[!is_fetch];
    return {accesses, first.misses, first.walks};
  }

 private:
  // Of many pages in one set the order of their last use, when all were looked at last. The first that has not been used since is the oldest
  // of all: nobody leaves but for another.
  class Order {
   public:
    Slot oldest(Cache& pages) {
      const Cache::Recent* const slots = pages.shortcut().slots;
      for (; next_ < pages.ways(); ++next_)
        if (const Slot slot = uses_[next_] % kSlots; slots[slot].used == uses_[next_] / kSlots) return ++next_, slot;
      for (Slot slot = 0; slot < pages.ways(); ++slot) uses_[slot] = slots[slot].used * kSlots + slot;  // of empty ones the first
      std::sort(uses_.begin(), uses_.begin() + pages.ways());
      next_ = 1;
      return uses_[0] % kSlots;
    }

   private:
    static constexpr uint64_t kSlots = 128;
    static_assert(kMaxWays < kSlots);
    std::array<uint64_t, kSlots> uses_;
    size_t next_ = kSlots;
  };
  struct First {
    explicit First(const TlbShape& shape) : pages(make(shape, 0)) {
      if (shape.entries == shape.ways && shape.ways > kFew) order.emplace();
    }
    static constexpr uint32_t kFew = 16;
    Cache pages;
    std::optional<Order> order;
    uint64_t misses = 0, walks = 0;
  };
  static Cache make(const TlbShape& shape, uint32_t children) {
    return Cache({.name = "TLB", .sets = shape.entries / shape.ways, .ways = shape.ways, .children = children});
  }
  void put_in_second(uint64_t page) {
    const Slot victim = second_->victim(page);
    if (second_->holds_line(victim)) second_->remove(victim);
    second_->fill(victim, page, State::kShared, kNoSlot);
  }

  First first_[2];  // of fetches, of data
  std::optional<Cache> second_;
};

}  // namespace simrun::sim
