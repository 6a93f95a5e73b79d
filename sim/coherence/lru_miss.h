// A miss of level 1 in the usual machine when nobody watches: two or three levels, LRU, ways that fill a block, up to 8
// children each. As CoherentTree::miss_plain(), with the shape of all sets known when compiling and everything inline:
// what is rare goes the general way. It counts and leaves what that does (decision 33), but for what follows from who
// answered the miss: count_answered() adds that.
#pragma once

#include <array>
#include <bit>

#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

inline constexpr uint32_t kLevel1Ways = 8;
using Level1Block = SetBlock<kLevel1Ways, false, true>;

// The least recently used way of a set of level 1, an empty one if there is one. Minima of numbers: no branch.
[[gnu::always_inline]] inline uint32_t least_recent(const Cache::Recent* set) {
  const auto dated = [&](uint32_t way) { return set[way].used * kLevel1Ways + way; };
  const auto least = [](uint64_t a, uint64_t b) { return b < a ? b : a; };
  static_assert(kLevel1Ways == 8);
  return least(least(least(dated(0), dated(1)), least(dated(2), dated(3))),
               least(least(dated(4), dated(5)), least(dated(6), dated(7)))) %
         kLevel1Ways;
}

inline void count_visitors(uint64_t* degrees, uint8_t visitors) {
  static constexpr auto kBits = [] {
    std::array<uint8_t, 256> bits{};
    for (uint32_t i = 0; i < 256; ++i) bits[i] = static_cast<uint8_t>(std::popcount(i));
    return bits;
  }();
  if (degrees != nullptr) ++degrees[kBits[visitors]];
}

// Where the array of `step` has the line; kWays if nowhere.
template <class Block>
[[gnu::always_inline]] inline uint32_t CoherentTree::find_way(const LruStep& step, Block block, uint32_t ways,
                                                              uint64_t set, uint64_t tag) {
  const uint32_t mask = block.matches(static_cast<uint32_t>(tag));
  if (*step.wide || tag >= kEmptyTag) [[unlikely]]
    return step.cache->verify(set, tag, mask, ways);
  return mask != 0 ? std::countr_zero(mask) : ways;
}

// The child `step` gets the line that is in `way` of its parent's block. Returns whether it gets it exclusively.
template <class Block>
[[gnu::always_inline]] inline bool CoherentTree::share(const LruStep& step, const LruStep& parent, Block block,
                                                       uint32_t way, Slot slot, bool write, Answer& answer) {
  const uint32_t state = block.state(way);
  bool exclusive = write | (step.gives_exclusive & is_exclusive(static_cast<State>(state & kStateMask)));
  if ((block.sharers(way) | (state & kDirtyChild)) != 0) [[unlikely]] {
    service_ = {answer.level, kMemory};
    exclusive = add_sharer(*parent.cache, parent.node, slot, step.child_number, write).exclusive;
    answer.handed_over = service_.supplier != kMemory;
    return exclusive;
  }
  block.sharers(way) = step.child_bit;
  block.visitors(way) |= step.child_bit;
  block.state(way) = static_cast<uint8_t>((state & ~kOwnedByChild) | (exclusive ? kOwnedByChild : 0));
  return exclusive;
}

// What is found in `way`: used now, and its cache has the permission asked for afterwards.
template <class Block>
[[gnu::always_inline]] inline void CoherentTree::use(const LruStep& step, Block block, uint32_t way, Slot slot,
                                                     bool write) {
  block.touch(way);
  if (write & !is_exclusive(static_cast<State>(block.state(way) & kStateMask))) [[unlikely]] {
    ++step.cache->events.upgrades;
    obtain_exclusive(step.node, slot);
  }
}

// Empties the oldest way of a set behind level 1, if it is in use, as evict(); puts the line there. `leave`: as of
// Cache::replace_oldest().
template <uint32_t kWays, bool kParents, class Leave>
[[gnu::always_inline]] inline Slot CoherentTree::put_lru(const LruStep& step, uint64_t line, State state,
                                                         Slot parent_slot, Leave leave) {
  using Block = SetBlock<kWays, true, kParents>;
  const uint64_t set = line & step.set_mask, tag = line >> step.set_shift;
  const Block block = Block::of_set(step.blocks, set);
  uint32_t way = block.oldest();
  if ((block.state(way) & kStateMask) != 0) [[likely]] {
    if (block.sharers(way) != 0) [[unlikely]]
      remove_from_children(*step.cache, step.node, static_cast<Slot>(set * kWays + way), kNobody,
                           Loss::kBackInvalidation, Data::kMerge);
    count_visitors(step.sharing_degrees, block.visitors(way));
    leave(block, way, is_dirty(static_cast<State>(block.state(way) & kStateMask)));
  } else {
    --step.cache->events.evictions;
  }
  way = block.renew_oldest();
  const auto slot = static_cast<Slot>(set * kWays + way);
  block.tag(way) = static_cast<uint32_t>(tag);
  block.state(way) = static_cast<uint8_t>(state);
  block.sharers(way) = block.visitors(way) = 0;
  if constexpr (kParents) block.parent(way) = parent_slot;
  if (*step.wide || tag >= kEmptyTag) [[unlikely]]
    step.cache->put_upper(slot, tag);
  return slot;
}

// Brings a line that level 2 misses there, from level 3 or memory. Returns its slot.
template <uint32_t kWays2, uint32_t kWays3>
[[gnu::noinline]] Slot CoherentTree::fetch_lru(const LruWay& way, Access access, uint64_t line, Answer& answer) {
  const LruStep &two = way.steps[1], &three = way.steps[2];
  const bool write = is_write(access);
  bool exclusive = true;
  Slot above = kNoSlot;
  two.cache->note_miss();
  answer.level = 2;
  if constexpr (kWays3 != 0) {
    using Block2 = SetBlock<kWays2, true, true>;
    using Block3 = SetBlock<kWays3, true, false>;
    const uint64_t set = line & three.set_mask, tag = line >> three.set_shift;
    const Block3 block = Block3::of_set(three.blocks, set);
    const Block2 block2 = Block2::of_set(two.blocks, line & two.set_mask);
    const uint32_t victim = block2.oldest();
    __builtin_prefetch(&Block3::of_slot(three.blocks, block2.parent(victim)).tag(0));
    __builtin_prefetch(&Block3::of_slot(three.blocks, block2.parent(victim)).state(0));
    uint32_t found = find_way(three, block, kWays3, set, tag);
    if (found != kWays3) {
      above = static_cast<Slot>(set * kWays3 + found);
      use(three, block, found, above, write);
    } else {
      ++memory_.reads;
      answer.level = 3;
      above = put_lru<kWays3, false>(three, line, State::kExclusive, kNoSlot, [&](Block3, uint32_t, bool dirty) {
        three.cache->events.write_backs_out += dirty;
        memory_.writes += dirty;
      });
      found = above % kWays3;
    }
    exclusive = share(two, three, block, found, above, write, answer);
  } else {
    ++memory_.reads;
  }
  return put_lru<kWays2, kWays3 != 0>(
      two, line, make_state(exclusive, false), above,
      [&](SetBlock<kWays2, true, kWays3 != 0> block, uint32_t old, bool dirty) {
        two.cache->events.write_backs_out += dirty;
        if constexpr (kWays3 != 0) {
          three.cache->events.write_backs_in += dirty;
          const Slot slot = block.parent(old);
          SetBlock<kWays3, true, false>::of_slot(three.blocks, slot).leave_child(slot % kWays3, two.child_bit, dirty);
        } else {
          memory_.writes += dirty;
        }
      });
}

// `misses` of level 1 of one kind, answered by `level`. Each put a line into all levels nearer the core, where another
// line was evicted: what was not, is taken back at once.
inline void CoherentTree::count_answered(const LruWay& way, Access access, uint32_t level, uint64_t misses) {
  for (uint32_t i = 0; i < level && way.steps[i].cache != nullptr; ++i) {
    const LruStep& step = way.steps[i];
    step.cache->events.evictions += misses;
    if (i != 0) step.requests->misses[index(access)] += misses;
    if (way.steps[i + 1].cache != nullptr) way.steps[i + 1].requests->accesses[index(access)] += misses;
  }
}

template <uint32_t kWays2, uint32_t kWays3>
[[gnu::always_inline]] inline CoherentTree::Answer CoherentTree::miss_lru(const LruWay& way, Access access,
                                                                          uint64_t line) {
  using Block2 = SetBlock<kWays2, true, kWays3 != 0>;
  const LruStep &one = way.steps[0], &two = way.steps[1];
  const bool write = is_write(access);
  Answer answer{1, false};
  if (kWays3 != 0 && two.cache->often_misses()) way.steps[2].cache->prefetch_set(line);

  // Level 2.
  const uint64_t set2 = line & two.set_mask;
  const Block2 block2 = Block2::of_set(two.blocks, set2);
  uint32_t found = find_way(two, block2, kWays2, set2, line >> two.set_shift);
  Slot above;
  if (found != kWays2) [[likely]] {
    above = static_cast<Slot>(set2 * kWays2 + found);
    two.cache->note_hit();
    use(two, block2, found, above, write);
  } else {
    above = fetch_lru<kWays2, kWays3>(way, access, line, answer);
    found = above % kWays2;
  }
  const bool exclusive = share(one, two, block2, found, above, write, answer);

  // Level 1.
  const uint64_t set = line & one.set_mask;
  Cache::Recent* const recent = way.recent + set * kLevel1Ways;
  const uint32_t victim = least_recent(recent);
  const Level1Block block = Level1Block::of_set(one.blocks, set);
  const uint32_t old = block.state(victim);
  if (old != 0) [[likely]] {
    const bool dirty = is_dirty(static_cast<State>(old & kStateMask));
    one.cache->events.write_backs_out += dirty;
    two.cache->events.write_backs_in += dirty;
    const Slot slot = block.parent(victim);
    Block2::of_slot(two.blocks, slot).leave_child(slot % kWays2, one.child_bit, dirty);
  } else {
    --one.cache->events.evictions;
  }
  const auto slot = static_cast<Slot>(set * kLevel1Ways + victim);
  recent[victim] = {line << 1 | uint64_t{write}, ++*way.clock};
  way.guesses[Cache::place_of(line, way.guess_mask)] = static_cast<Cache::Guess>(slot);
  block.parent(victim) = above;
  block.tag(victim) = static_cast<uint32_t>(line >> one.set_shift);
  block.state(victim) = static_cast<uint8_t>(make_state(exclusive, write));
  way.upper_tags[slot] = static_cast<uint32_t>(line >> one.set_shift >> 32);
  *one.wide = true;
  return answer;
}

}  // namespace simrun::sim
