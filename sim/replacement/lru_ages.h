// True LRU within a set: each way has an age byte; the ages of a set's ways are a permutation of 0..ways-1, 0 is the
// most recent. Invariant: invalid ways have the highest ages, so the way of age ways-1 is an empty one whenever there
// is one.
//
// A set's age bytes are padded to a power of two of at least 8; padding holds kPaddingAge, which no operation here
// changes. Ages rather than time stamps: a 16-way set is then two host lines, with all that is kept of its lines, and a
// miss finds its victim with one compare. (Level 1 keeps times instead: docs/decisions/0022.)
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace simrun::sim {

inline constexpr uint32_t kMaxWays = 126;  // ages must stay below kPaddingAge in a signed byte
inline constexpr uint8_t kPaddingAge = 127;

namespace lru {

// Makes `way` the most recent: ages below its own grow by one, its own becomes 0. Eight bytes as one integer: a byte
// store here would make the next load of the set wait for the store buffer.
inline void touch_8(uint8_t* ages, uint32_t way) {
  uint64_t all;
  std::memcpy(&all, ages, 8);
  const uint32_t shift = way * 8;
  const uint64_t own = (all >> shift) & 0xff;
  constexpr uint64_t kHigh = 0x8080808080808080u, kOnes = 0x0101010101010101u;
  const uint64_t not_below = (all | kHigh) - own * kOnes;  // no borrow crosses a byte: ages are below 128
  all += (~not_below & kHigh) >> 7;
  all &= ~(uint64_t{0xff} << shift);
  std::memcpy(ages, &all, 8);
}

inline void touch(uint8_t* ages, uint32_t padded_ways, uint32_t way) {
  const uint8_t own = ages[way];
  if (own == 0) return;
  if (padded_ways == 8) return touch_8(ages, way);
#if defined(__SSE2__)
  const __m128i limit = _mm_set1_epi8(static_cast<char>(own));
  for (uint32_t i = 0; i < padded_ways; i += 16) {
    auto* p = reinterpret_cast<__m128i*>(ages + i);
    const __m128i a = _mm_load_si128(p);
    _mm_store_si128(p, _mm_sub_epi8(a, _mm_cmplt_epi8(a, limit)));
  }
#else
  for (uint32_t i = 0; i < padded_ways; ++i) ages[i] += ages[i] < own;
#endif
  ages[way] = 0;
}

// The least recent way, an empty one if there is one.
inline uint32_t victim(const uint8_t* ages, uint32_t padded_ways, uint32_t ways) {
  const auto oldest = static_cast<uint8_t>(ways - 1);
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(oldest));
  if (padded_ways == 8) {
    const __m128i a = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(ages));
    return std::countr_zero(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(a, wanted))));
  }
  for (uint32_t i = 0;; i += 16) {
    const __m128i a = _mm_load_si128(reinterpret_cast<const __m128i*>(ages + i));
    const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(a, wanted)));
    if (mask != 0) return i + std::countr_zero(mask);
  }
#else
  (void)padded_ways;
  for (uint32_t i = 0;; ++i)
    if (ages[i] == oldest) return i;
#endif
}

// `way` becomes empty: the least recent of all.
inline void retire(uint8_t* ages, uint32_t padded_ways, uint32_t ways, uint32_t way) {
  const uint8_t own = ages[way];
  if (own == ways - 1) return;  // the usual case: a victim
  uint32_t i = 0;
#if defined(__SSE2__)
  const __m128i limit = _mm_set1_epi8(static_cast<char>(own)), padding = _mm_set1_epi8(kPaddingAge);
  for (; padded_ways >= 16 && i < padded_ways; i += 16) {
    auto* p = reinterpret_cast<__m128i*>(ages + i);
    const __m128i a = _mm_load_si128(p);
    _mm_store_si128(p, _mm_add_epi8(a, _mm_and_si128(_mm_cmpgt_epi8(a, limit), _mm_cmplt_epi8(a, padding))));
  }
#else
  (void)padded_ways;
#endif
  for (; i < ways; ++i) ages[i] -= ages[i] > own;
  ages[way] = static_cast<uint8_t>(ways - 1);
}

}  // namespace lru
}  // namespace simrun::sim
