// A miss of level 1 in the usual machine when nobody watches: two or three levels, LRU, ways that fill a block, up to 8
// children each. As CoherentTree::miss_plain(), with the shape of all sets known when compiling and everything inline:
// what is rare goes the general way. It counts and leaves what that does (decision 33), but for what follows from who
// answered the miss: count_answered() adds that.
#pragma once

#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

inline constexpr uint32_t kLevel1Ways = 8;
using Level1Block = SetBlock<kLevel1Ways, false, true>;

// The least recently used way of a set of level 1, an empty one if there is one. Minima of numbers: no branch. Those of
// SSE2 are of doubles, whose order is that of their bits; 2^52 + n has n in the lower bits (7 instructions less of 31).
[[gnu::always_inline]] inline size_t least_recent(const Cache::Recent* set) {
  static_assert(kLevel1Ways == 8);
#if defined(__SSE2__)
  const auto dated = [&](int64_t way) {
    constexpr int64_t k2To52 = 0x433ll << 52;
    const auto* const low = reinterpret_cast<const double*>(&set[way].used);
    const auto* const high = reinterpret_cast<const double*>(&set[way + 1].used);
    const __m128i used = _mm_castpd_si128(_mm_loadh_pd(_mm_load_sd(low), high));
    return _mm_castsi128_pd(_mm_or_si128(_mm_slli_epi64(used, 3), _mm_set_epi64x(k2To52 | (way + 1), k2To52 | way)));
  };
  __m128d least = _mm_min_pd(_mm_min_pd(dated(0), dated(2)), _mm_min_pd(dated(4), dated(6)));
  least = _mm_min_sd(least, _mm_unpackhi_pd(least, least));
  return static_cast<size_t>(_mm_cvtsi128_si64(_mm_castpd_si128(least))) % kLevel1Ways;
#else
  const auto dated = [&](uint32_t way) { return set[way].used * kLevel1Ways + way; };
  const auto least = [](uint64_t a, uint64_t b) { return b < a ? b : a; };
  return least(least(least(dated(0), dated(1)), least(dated(2), dated(3))),
               least(least(dated(4), dated(5)), least(dated(6), dated(7)))) %
         kLevel1Ways;
#endif
}

// Of the ways of a set of the cache: that with the whole tag, as a mask. Both halves are loaded at once.
template <class Block>
[[gnu::always_inline]] inline uint32_t find_wide(const CoherentTree::LruStep& step, Block block, uint64_t set, uint64_t tag) {
  const auto lower = static_cast<uint32_t>(tag);
  const uint32_t mask = block.matches(lower) & Block::matches_above(step.upper_tags, set, static_cast<uint32_t>(tag >> 32));
  return lower != kEmptyTag ? mask : step.cache->verify(set, tag, mask);
}

// The child `step` gets the line that is in `way` of its parent's block. Returns whether it gets it exclusively.
template <class Block>
[[gnu::always_inline]] inline bool CoherentTree::share(const LruStep& step, const LruStep& parent, Block block,
                                                       size_t way, Slot slot, bool write, Answer& answer) {
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
  block.state(way) = static_cast<uint8_t>((state & ~kOwnedByChild) | exclusive * uint32_t{kOwnedByChild});
  return exclusive;
}

// What is found in `way`: used now, and its cache has the permission asked for afterwards.
template <class Block>
[[gnu::always_inline]] inline void CoherentTree::use(const LruStep& step, Block block, size_t way, Slot slot,
                                                     bool write) {
  block.touch(way);
  if (write & !is_exclusive(static_cast<State>(block.state(way) & kStateMask))) [[unlikely]] {
    ++step.cache->events.upgrades;
    obtain_exclusive(step.node, slot);
  }
}

// What is in `way`, the oldest of a set behind level 1, leaves as by evict(), but stays there until it is replaced.
// leave(dirty) is called when there is something. One child had it and has it no more: else it is rare, and the answer
// true.
template <class Block, class Leave>
[[gnu::always_inline]] inline bool CoherentTree::make_room(const LruStep& step, Block block, size_t way, Slot slot,
                                                           Leave leave) {
  const uint32_t visitors = block.visitors(way), sharers = block.sharers(way);
  if ((block.state(way) & kStateMask) == 0 || ((visitors & (visitors - 1)) | sharers) != 0) [[unlikely]] {
    if (make_room_rarely(step, visitors, slot)) leave(block.is_dirty(way));
    return true;
  }
  leave(block.is_dirty(way));
  return false;
}

template <class Block>
[[gnu::always_inline]] inline void CoherentTree::put_lru(const LruStep& step, Block block, size_t way, Slot slot,
                                                         uint64_t tag, uint8_t state, uint8_t child) {
  block.renew_oldest();
  block.put(way, static_cast<uint32_t>(tag), state, child);
  if (tag >= *step.narrow_tags) [[unlikely]]
    step.cache->put_upper(slot, tag);
}

// `state`: of the byte there. `victim`: least_recent() of the set.
template <uint32_t kWays2, uint32_t kWays3>
[[gnu::always_inline]] inline Slot CoherentTree::put_in_level1(const LruWay& way, Access access, uint64_t line,
                                                               Slot above, uint8_t state, size_t victim) {
  using Block2 = SetBlock<kWays2, true, kWays3 != 0>;
  const LruStep &one = way.steps[0], &two = way.steps[1];
  const uint64_t set = line & one.set_mask, tag = line >> one.set_shift;
  Cache::Recent* const recent = way.recent + set * kLevel1Ways;
  const Level1Block block = Level1Block::of_set(one.blocks, set);
  if (block.state(victim) != 0) [[likely]] {
    const bool dirty = block.is_dirty(victim);
    one.write_backs += dirty;
    const Slot slot = block.parent(victim);
    Block2::of_slot(two.blocks, slot).leave_child(slot % kWays2, one.child_bit, dirty);
  } else {
    --one.cache->events.evictions;
  }
  const auto slot = static_cast<Slot>(set * kLevel1Ways + victim);
  recent[victim] = {line << 1 | uint64_t{is_write(access)}, ++*way.clock};
  way.guesses[Cache::place_of(line, way.guess_mask)] = static_cast<Cache::Guess>(slot);
  block.parent(victim) = above;
  block.tag(victim) = static_cast<uint32_t>(tag);
  block.state(victim) = state;
  one.upper_tags[slot] = static_cast<uint32_t>(tag >> 32);
  return slot;
}

// The rest of a miss of level 2: what level 3 or memory has goes to all levels nearer the core.
template <uint32_t kWays2, uint32_t kWays3>
[[gnu::always_inline]] inline CoherentTree::Answer CoherentTree::fetch_lru(const LruWay& way, Access access,
                                                                           uint64_t line) {
  using Block2 = SetBlock<kWays2, true, kWays3 != 0>;
  const LruStep &one = way.steps[0], &two = way.steps[1], &three = way.steps[2];
  const bool write = is_write(access);
  const LruWay::Fresh* const fresh = &way.fresh[write];
  Answer answer{2, false};
  // Level 1's victim first, and level 2's line of it asked for: what would be waited for last (triad 0.94 of its processor time).
  const uint64_t set1 = line & one.set_mask;
  const auto oldest1 = [&] { return least_recent(way.recent + set1 * kLevel1Ways); };
  size_t victim1 = oldest1();
  __builtin_prefetch(&Block2::of_slot(two.blocks, Level1Block::of_set(one.blocks, set1).parent(victim1)).sharers(0));
  const uint64_t set2 = line & two.set_mask;
  const Block2 block2 = Block2::of_set(two.blocks, set2);
  size_t victim2 = block2.oldest();
  uint8_t state1 = fresh->level1, state2 = fresh->level2;
  Slot above = kNoSlot;
  if constexpr (kWays3 != 0) {
    using Block3 = SetBlock<kWays3, true, false>;
    const uint64_t set3 = line & three.set_mask, tag = line >> three.set_shift;
    const Block3 block = Block3::of_set(three.blocks, set3);
    __builtin_prefetch(&Block3::of_slot(three.blocks, block2.parent(victim2)).state(0));  // it loses that line
    const uint32_t mask = tag < *three.narrow_tags ? block.matches(static_cast<uint32_t>(tag)) : find_wide(three, block, set3, tag);
    if (mask != 0) {
      const size_t found = lowest(mask);
      above = static_cast<Slot>(set3 * kWays3 + found);
      use(three, block, found, above, write);
      const bool exclusive2 = share(two, three, block, found, above, write, answer);
      const bool exclusive1 = write | (one.gives_exclusive & exclusive2);
      state1 = state_byte(exclusive1, write, false);
      state2 = state_byte(exclusive2, false, exclusive1);
    } else {
      ++memory_.reads;
      answer.level = 3;
      const size_t victim = block.oldest();
      above = static_cast<Slot>(set3 * kWays3 + victim);
      const bool rarely = make_room(three, block, victim, above, [&](bool dirty) {
        three.write_backs += dirty;
        memory_.writes += dirty;
      });
      if (rarely) [[unlikely]]
        victim2 = block2.oldest(), victim1 = oldest1();
      put_lru(three, block, victim, above, tag, fresh->level3, two.child_bit);
    }
  } else {
    ++memory_.reads;
  }
  const auto slot = static_cast<Slot>(set2 * kWays2 + victim2);
  const bool rarely2 = make_room(two, block2, victim2, slot, [&](bool dirty) {
    two.write_backs += dirty;
    if constexpr (kWays3 != 0) {
      const Slot parent = block2.parent(victim2);
      SetBlock<kWays3, true, false>::of_slot(three.blocks, parent).leave_child(parent % kWays3, two.child_bit, dirty);
    } else {
      memory_.writes += dirty;
    }
  });
  if (rarely2) [[unlikely]]
    victim1 = oldest1();
  put_lru(two, block2, victim2, slot, line >> two.set_shift, state2, one.child_bit);
  if constexpr (kWays3 != 0) block2.parent(victim2) = above;
  put_in_level1<kWays2, kWays3>(way, access, line, slot, state1, victim1);
  return answer;
}

// `found`: in the set of level 2.
template <uint32_t kWays2, uint32_t kWays3>
[[gnu::always_inline]] inline CoherentTree::Answer CoherentTree::take_lru(const LruWay& way, Access access,
                                                                          uint64_t line, size_t found) {
  const LruStep &one = way.steps[0], &two = way.steps[1];
  const uint64_t set = line & two.set_mask;
  const auto block = SetBlock<kWays2, true, kWays3 != 0>::of_set(two.blocks, set);
  const bool write = is_write(access);
  Answer answer{1, false};
  const auto slot = static_cast<Slot>(set * kWays2 + found);
  use(two, block, found, slot, write);
  const bool exclusive = share(one, two, block, found, slot, write, answer);
  answer.slot = put_in_level1<kWays2, kWays3>(way, access, line, slot, state_byte(exclusive, write, false),
                                              least_recent(way.recent + (line & one.set_mask) * kLevel1Ways));
  return answer;
}

}  // namespace simrun::sim
