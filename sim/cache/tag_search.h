// Which ways of a set have the lower half of a tag, or something in a byte of theirs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace simrun::sim {

// The lowest bit of a mask that is not 0, which std::countr_zero() would ask.
inline size_t lowest(uint32_t mask) {
  if (mask == 0) __builtin_unreachable();
  return static_cast<size_t>(std::countr_zero(mask));
}

// Bit i: way i, of eight, has it. The tags are 16-byte aligned.
inline uint32_t matches_8(const uint32_t* tags, uint32_t tag) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
  const auto* four = reinterpret_cast<const __m128i*>(tags);
  const __m128i both = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(four), wanted),
                                       _mm_cmpeq_epi32(_mm_load_si128(four + 1), wanted));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(both, _mm_setzero_si128())));
#else
  uint32_t mask = 0;
  for (uint32_t way = 0; way < 8; ++way) mask |= uint32_t{tags[way] == tag} << way;
  return mask;
#endif
}

// The same of 16.
inline uint32_t matches_16(const uint32_t* tags, uint32_t tag) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
  const auto* four = reinterpret_cast<const __m128i*>(tags);
  const auto equal = [&](uint32_t i) { return _mm_cmpeq_epi32(_mm_load_si128(four + i), wanted); };
  const __m128i low = _mm_packs_epi32(equal(0), equal(1)), high = _mm_packs_epi32(equal(2), equal(3));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
#else
  return matches_8(tags, tag) | matches_8(tags + 8, tag) << 8;
#endif
}

// The lowest of `ways` whose byte in a row, which is padded to 8 or to a multiple of 16 of them, has `wanted` in `bits`; `ways`: none.
inline uint32_t lowest_with(const uint8_t* row, uint32_t ways, uint8_t bits, uint8_t wanted) {
#if defined(__SSE2__)
  for (uint32_t from = 0; from < ways; from += 16) {
    const auto* const at = reinterpret_cast<const __m128i*>(row + from);
    const __m128i bytes = _mm_and_si128(ways <= 8 ? _mm_loadl_epi64(at) : _mm_loadu_si128(at), _mm_set1_epi8(static_cast<char>(bits)));
    const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(wanted)))));
    if (mask != 0) return std::min(ways, from + static_cast<uint32_t>(lowest(mask)));
  }
  return ways;
#else
  return static_cast<uint32_t>(std::find_if(row, row + ways, [&](uint8_t byte) { return (byte & bits) == wanted; }) - row);
#endif
}

}  // namespace simrun::sim
