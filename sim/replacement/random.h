// A random way, by a generator for each set: the same machine gives the same run, also in slices.
#pragma once

#include "sim/replacement/set_view.h"

namespace simrun::sim::replacement {

struct Random {
  static constexpr bool kFillIsHit = true;
  static constexpr bool kHitIsNothing = true;
  // SplitMix64 (Steele et al., OOPSLA 2014), started with the number of the set.
  static void reset(SetView s) { *s.word = (s.set + 1) * 0xd1342543de82ef95u; }
  static void hit(SetView, uint32_t) {}
  static void fill(SetView, uint32_t, uint64_t) {}
  static uint32_t victim(SetView s) {
    uint64_t z = *s.word += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>((z ^ z >> 31) % s.ways);
  }
  static void remove(SetView, uint32_t) {}
};

}  // namespace simrun::sim::replacement
