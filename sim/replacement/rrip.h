// Re-reference interval prediction (Jaleel et al., ISCA 2010), 2 bits, hit priority: SRRIP, BRRIP, DRRIP; and SHiP over
// it (Wu et al., MICRO 2011) with memory regions as signatures. The row holds the prediction: 3 is the next to go.
#pragma once

#include <algorithm>
#include <cstring>

#include "sim/cache/tag_search.h"
#include "sim/replacement/set_view.h"

namespace simrun::sim::replacement {

struct Srrip {
  static constexpr bool kFillIsHit = false;
  static constexpr bool kHitIsNothing = false;
  static constexpr uint8_t kLong = 2, kDistant = 3;
  static void reset(SetView s) { std::memset(s.row, kDistant, s.padded_ways); }
  static void hit(SetView s, uint32_t way) { s.row[way] = 0; }
  static void fill(SetView s, uint32_t way, uint64_t) { s.row[way] = kLong; }
  static uint32_t victim(SetView s) {
    if (const uint32_t way = lowest_with(s.row, s.ways, 0xff, kDistant); way != s.ways) return way;
    const uint8_t oldest = *std::max_element(s.row, s.row + s.ways);
    uint32_t victim = s.ways;
    for (uint32_t way = s.ways; way-- > 0;) {
      if (s.row[way] == oldest) victim = way;
      s.row[way] = static_cast<uint8_t>(s.row[way] + (kDistant - oldest));
    }
    return victim;
  }
  static void remove(SetView, uint32_t) {}
};

// Most fills are distant, one in 32 is long.
struct Brrip : Srrip {
  static void fill(SetView s, uint32_t way, uint64_t) { s.row[way] = is_rare_fill(s) ? kLong : kDistant; }
};

// SRRIP or BRRIP, whichever misses less.
struct Drrip : Srrip {
  static void fill(SetView s, uint32_t way, uint64_t line) {
    if (second_policy_fills(s))
      Brrip::fill(s, way, line);
    else
      Srrip::fill(s, way, line);
  }
};

// A line is distant when the lines of its region (256 lines) left without a hit before. A counter of 3 bits for each of
// 16384 signatures: up at the first hit of a line, down when a line without a hit leaves, for whatever reason.
struct Ship : Srrip {
  static constexpr uint32_t kSignatures = 1 << 14;
  static constexpr uint16_t kWasHit = 0x8000;
  static void reset(SetView s) {
    Srrip::reset(s);
    s.shared->counters.resize(kSignatures, 1);
    s.shared->signatures.resize(s.shared->sets * s.padded_ways, 0);
  }
  static uint16_t& signature(SetView s, uint32_t way) { return s.shared->signatures[s.set * s.padded_ways + way]; }
  static void hit(SetView s, uint32_t way) {
    s.row[way] = 0;
    uint16_t& line = signature(s, way);
    if ((line & kWasHit) != 0) return;
    uint8_t& counter = s.shared->counters[line];
    counter += counter < 7;
    line |= kWasHit;
  }
  static void fill(SetView s, uint32_t way, uint64_t line) {
    const auto region = static_cast<uint16_t>((line >> 8) * 0x9e3779b97f4a7c15u >> 50);
    signature(s, way) = region;
    s.row[way] = s.shared->counters[region] == 0 ? kDistant : kLong;
  }
  static void remove(SetView s, uint32_t way) {
    const uint16_t line = signature(s, way);
    if ((line & kWasHit) != 0) return;
    uint8_t& counter = s.shared->counters[line];
    counter -= counter > 0;
  }
};

}  // namespace simrun::sim::replacement
