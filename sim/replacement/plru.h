// Approximations of LRU by one bit for each way or tree node; a byte of the row holds a bit.
#pragma once

#include <bit>
#include <cstring>

#include "sim/replacement/set_view.h"

namespace simrun::sim::replacement {

// A binary tree over the ways; each node points to the half that was not used last. Number of ways no power of two: the
// tree is that of the next one, and a pointer to a half without ways is taken as the other.
// Node 1 is the root, the children of node i are 2i and 2i+1; row[i] is 1 when the victim is to the right.
struct TreePlru {
  static constexpr bool kFillIsHit = true;
  static constexpr bool kHitIsNothing = false;
  static void reset(SetView s) { std::memset(s.row, 0, s.padded_ways); }
  static void hit(SetView s, uint32_t way) {
    const uint32_t leaves = std::bit_ceil(s.ways);
    if (leaves == 8) return point_away<8>(s.row, way);
    if (leaves == 16) return point_away<16>(s.row, way);
    for (uint32_t node = leaves + way; node > 1; node /= 2) s.row[node / 2] = node % 2 == 0;
  }
  static void fill(SetView s, uint32_t way, uint64_t) { hit(s, way); }
  static uint32_t victim(SetView s) {
    const uint32_t leaves = std::bit_ceil(s.ways);
    uint32_t node = 1, first_way = 0;
    for (uint32_t half = leaves / 2; half != 0; half /= 2) {
      const bool right = s.row[node] != 0 && first_way + half < s.ways;
      node = 2 * node + right;
      first_way += right ? half : 0;
    }
    return first_way;
  }
  static void remove(SetView, uint32_t) {}

 private:
  // The whole row at once: what the nodes on the way to a leaf become, and which they are.
  template <uint32_t kLeaves>
  struct Paths {
    static constexpr uint32_t kWords = kLeaves / 8;
    uint64_t nodes[kLeaves][kWords] = {}, left[kLeaves][kWords] = {};
    constexpr Paths() {
      for (uint32_t way = 0; way < kLeaves; ++way)
        for (uint32_t node = kLeaves + way; node > 1; node /= 2) {
          const uint32_t word = node / 2 / 8, shift = node / 2 % 8 * 8;
          nodes[way][word] |= uint64_t{0xff} << shift;
          left[way][word] |= uint64_t{node % 2 == 0} << shift;
        }
    }
  };
  template <uint32_t kLeaves>
  static void point_away(uint8_t* row, uint32_t way) {
    static_assert(std::endian::native == std::endian::little);
    static constexpr Paths<kLeaves> kPaths;
    for (uint32_t word = 0; word < kPaths.kWords; ++word) {
      uint64_t eight;
      std::memcpy(&eight, row + 8 * word, 8);
      eight = (eight & ~kPaths.nodes[way][word]) | kPaths.left[way][word];
      std::memcpy(row + 8 * word, &eight, 8);
    }
  }
};

// A bit for each way, set when used; when all would be set, the others are cleared (MRU bits). The victim is the lowest
// way without.
struct BitPlru {
  static constexpr bool kFillIsHit = true;
  static constexpr bool kHitIsNothing = false;
  static void reset(SetView s) { std::memset(s.row, 0, s.padded_ways); }
  static void hit(SetView s, uint32_t way) {
    s.row[way] = 1;
    for (uint32_t i = 0; i < s.ways; ++i)
      if (s.row[i] == 0) return;
    std::memset(s.row, 0, s.ways);
    s.row[way] = 1;
  }
  static void fill(SetView s, uint32_t way, uint64_t) { hit(s, way); }
  static uint32_t victim(SetView s) {
    for (uint32_t i = 0; i < s.ways; ++i)
      if (s.row[i] == 0) return i;
    return 0;  // one way
  }
  static void remove(SetView s, uint32_t way) { s.row[way] = 0; }
};

// Not recently used: as above, but the bits are cleared when a victim is wanted and every way has its bit.
struct Nru {
  static constexpr bool kFillIsHit = true;
  static constexpr bool kHitIsNothing = false;
  static void reset(SetView s) { std::memset(s.row, 0, s.padded_ways); }
  static void hit(SetView s, uint32_t way) { s.row[way] = 1; }
  static void fill(SetView s, uint32_t way, uint64_t) { hit(s, way); }
  static uint32_t victim(SetView s) {
    for (uint32_t i = 0; i < s.ways; ++i)
      if (s.row[i] == 0) return i;
    std::memset(s.row, 0, s.ways);
    return 0;
  }
  static void remove(SetView s, uint32_t way) { s.row[way] = 0; }
};

}  // namespace simrun::sim::replacement
