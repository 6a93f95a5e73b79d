// Policies over an order of the ways: FIFO, and LRU with other insertions: LIP, BIP, DIP (Qureshi et al., "Adaptive
// Insertion Policies", ISCA 2007). The row holds ages, a permutation of 0 .. ways-1; the oldest goes. (LRU itself is
// lru_ages.h, which the hit path knows.)
#pragma once

#include "sim/replacement/lru_ages.h"
#include "sim/replacement/set_view.h"

namespace simrun::sim::replacement {

struct Fifo {
  static constexpr bool kFillIsHit = true;
  static constexpr bool kHitIsNothing = true;
  static void reset(SetView s) {
    for (uint32_t way = 0; way < s.padded_ways; ++way)
      s.row[way] = way < s.ways ? static_cast<uint8_t>(way) : kPaddingAge;
  }
  static void hit(SetView, uint32_t) {}
  static void fill(SetView s, uint32_t way, uint64_t) { lru::touch(s.row, s.padded_ways, way); }
  static uint32_t victim(SetView s) { return lru::victim(s.row, s.padded_ways, s.ways); }
  static void remove(SetView, uint32_t) {}
};

// Least recent insertion: a line is the next victim until its first hit.
struct Lip : Fifo {
  static constexpr bool kFillIsHit = false;
  static constexpr bool kHitIsNothing = false;
  static void hit(SetView s, uint32_t way) { lru::touch(s.row, s.padded_ways, way); }
  static void fill(SetView s, uint32_t way, uint64_t) { lru::retire(s.row, s.padded_ways, s.ways, way); }
};

// As LIP, but one fill in 32 is the most recent.
struct Bip : Lip {
  static void fill(SetView s, uint32_t way, uint64_t line) {
    if (is_rare_fill(s))
      hit(s, way);
    else
      Lip::fill(s, way, line);
  }
};

// LRU or BIP, whichever misses less.
struct Dip : Lip {
  static void fill(SetView s, uint32_t way, uint64_t line) {
    if (second_policy_fills(s))
      Bip::fill(s, way, line);
    else
      hit(s, way);
  }
};

}  // namespace simrun::sim::replacement
