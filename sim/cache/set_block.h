// The block of a set (cache.h) whose number of ways and rows are known when compiling, of LRU by ages or, in level 1,
// by times: what a miss of the usual machine does there (sim/coherence/lru_miss.h).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "sim/cache/tag_search.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

using Slot = uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

// The byte of a line's state.
inline constexpr uint8_t kStateMask = 7, kOwnedByChild = 8, kDirtyChild = 16;
// Without a branch.
constexpr uint8_t state_byte(bool exclusive, bool dirty, bool owned_by_child) {
  return static_cast<uint8_t>(1 + 2 * uint32_t{exclusive} + uint32_t{dirty} + owned_by_child * uint32_t{kOwnedByChild});
}
static_assert(state_byte(false, false, false) == static_cast<uint8_t>(make_state(false, false)) &&
              state_byte(false, true, false) == static_cast<uint8_t>(make_state(false, true)) &&
              state_byte(true, false, false) == static_cast<uint8_t>(make_state(true, false)) &&
              state_byte(true, true, false) == static_cast<uint8_t>(make_state(true, true)));
// Of an empty way. A line may have it as the lower half of its tag.
inline constexpr uint32_t kEmptyTag = ~uint32_t{0};

template <uint32_t kWays, bool kChildren, bool kParents>
class SetBlock {
 public:
  static_assert(kWays == 8 || kWays == 16);
  static constexpr uint32_t kParentsAt = (kChildren ? 8 : 6) * kWays;
  static constexpr uint32_t kBytes = kParentsAt + (kParents ? kWays * sizeof(Slot) : 0);
  static SetBlock of_set(uint8_t* blocks, uint64_t set) { return SetBlock(blocks + set * kBytes); }
  static SetBlock of_slot(uint8_t* blocks, Slot slot) { return of_set(blocks, slot / kWays); }

  uint32_t matches(uint32_t tag) const { return matches_in_row(tags(), tag); }
  // The same of the upper halves of the tags of all sets.
  static uint32_t matches_above(const uint32_t* upper_tags, uint64_t set, uint32_t half) {
    return matches_in_row(upper_tags + set * kWays, half);
  }
  uint32_t& tag(size_t way) const { return tags()[way]; }
  uint8_t& state(size_t way) const { return p_[5 * kWays + way]; }
  uint8_t& sharers(size_t way) const requires kChildren { return p_[6 * kWays + way]; }
  uint8_t& visitors(size_t way) const requires kChildren { return p_[7 * kWays + way]; }
  Slot& parent(size_t way) const requires kParents { return reinterpret_cast<Slot*>(p_ + kParentsAt)[way]; }

  // As lru::touch(), without a branch and without a store of one byte, which the next load of the row would wait for.
  void touch(size_t way) const {
    const Row own = row_of(p_[4 * kWays + way]), ages = load();
    store(without(equal(ages, own), minus(ages, less(ages, own))));
  }
  // The oldest way. All ways are in use or the oldest is empty.
  size_t oldest() const { return first(equal(load(), row_of(kWays - 1))); }
  // It becomes the most recent: ages are the numbers below kWays, so each is one more modulo kWays.
  void renew_oldest() const { store(both(minus(load(), row_of(0xff)), row_of(kWays - 1))); }
  // A line that one child has.
  void put(size_t way, uint32_t tag, uint8_t state_byte, uint8_t child) const requires kChildren {
    tags()[way] = tag;
    state(way) = state_byte;
    sharers(way) = visitors(way) = child;
  }
  // Of a way in use: clean states are odd.
  bool is_dirty(size_t way) const { return (~uint32_t{state(way)} & 1) != 0; }
  // `child`, a bit, which has the line, loses it, and hands its data over if they are `dirty`.
  void leave_child(size_t way, uint8_t child, bool dirty) const requires kChildren {
    sharers(way) &= static_cast<uint8_t>(~child);
    const uint32_t byte = state(way), lost = kOwnedByChild | uint32_t{dirty} * kDirtyChild;
    state(way) = static_cast<uint8_t>((byte & ~lost) + (byte & uint32_t{dirty}));
  }

 private:
  static uint32_t matches_in_row(const uint32_t* row, uint32_t half) {
    if constexpr (kWays == 8) return matches_8(row, half);
    return matches_16(row, half);
  }
  explicit SetBlock(uint8_t* p) : p_(p) {}
  uint32_t* tags() const { return reinterpret_cast<uint32_t*>(p_); }

#if defined(__SSE2__)
  using Row = __m128i;
  Row load() const {
    const auto* const ages = reinterpret_cast<const __m128i*>(p_ + 4 * kWays);
    return kWays == 8 ? _mm_loadl_epi64(ages) : _mm_load_si128(ages);
  }
  void store(Row row) const {
    auto* const ages = reinterpret_cast<__m128i*>(p_ + 4 * kWays);
    if (kWays == 8)
      _mm_storel_epi64(ages, row);
    else
      _mm_store_si128(ages, row);
  }
  static Row row_of(uint8_t age) { return _mm_set1_epi8(static_cast<char>(age)); }
  static Row equal(Row a, Row b) { return _mm_cmpeq_epi8(a, b); }
  static Row less(Row a, Row b) { return _mm_cmplt_epi8(a, b); }
  static Row minus(Row a, Row b) { return _mm_sub_epi8(a, b); }
  static Row without(Row which, Row a) { return _mm_andnot_si128(which, a); }
  static Row both(Row a, Row b) { return _mm_and_si128(a, b); }
  static size_t first(Row which) { return lowest(static_cast<uint32_t>(_mm_movemask_epi8(which))); }
#else
  struct Row {
    uint8_t of[kWays];
  };
  template <class F>
  static Row each(Row a, F f) {
    for (uint32_t way = 0; way < kWays; ++way) a.of[way] = static_cast<uint8_t>(f(way));
    return a;
  }
  Row load() const {
    Row row;
    std::memcpy(row.of, p_ + 4 * kWays, kWays);
    return row;
  }
  void store(Row row) const { std::memcpy(p_ + 4 * kWays, row.of, kWays); }
  static Row row_of(uint8_t age) {
    return each({}, [&](uint32_t) { return age; });
  }
  static Row equal(Row a, Row b) {
    return each(a, [&](size_t way) { return a.of[way] == b.of[way] ? 0xff : 0; });
  }
  static Row less(Row a, Row b) {
    return each(a, [&](size_t way) { return a.of[way] < b.of[way] ? 0xff : 0; });
  }
  static Row minus(Row a, Row b) {
    return each(a, [&](size_t way) { return a.of[way] - b.of[way]; });
  }
  static Row without(Row which, Row a) {
    return each(a, [&](size_t way) { return a.of[way] & ~which.of[way]; });
  }
  static Row both(Row a, Row b) {
    return each(a, [&](uint32_t way) { return a.of[way] & b.of[way]; });
  }
  static size_t first(Row which) {
    size_t way = 0;
    while (which.of[way] == 0) ++way;
    return way;
  }
#endif

  uint8_t* p_;
};

}  // namespace simrun::sim
