// Streams of misses that go up or down (Jouppi, ISCA 1990; Palacharla and Kessler, ISCA 1994): 16 of them, the one that
// was used longest ago makes room. A miss within 4 lines of a stream's last one continues it; the second step in one
// direction makes it prefetch.
#pragma once

#include <bit>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "sim/build/machine_config.h"
#include "sim/replacement/lru_ages.h"

namespace simrun::sim::prefetch {

class Stream {
 public:
  explicit Stream(const PrefetchConfig& config) : config_(config) {
    for (uint32_t i = 0; i < kStreams; ++i) {
      lines_[i] = kFarAway;
      lower_[i] = static_cast<uint32_t>(kFarAway);
      ages_[i] = static_cast<uint8_t>(kStreams - 1 - i);  // empty ones are the oldest, the first of them first
    }
  }
  template <class Want>
  void observe(uint64_t line, uint64_t /*pc*/, bool is_new, Want want) {
    if (!is_new) return;
    for (uint32_t near = streams_near(line); near != 0; near &= near - 1) {
      const auto stream = static_cast<uint32_t>(std::countr_zero(near));
      const auto step = static_cast<int64_t>(line - lines_[stream]);
      if (step >= -kWindow && step <= kWindow) return go_on(stream, line, step, want);
    }
    begin(lru::victim(ages_, kStreams, kStreams), line, 0);
  }

 private:
  static constexpr int32_t kWindow = 4;
  static constexpr uint32_t kStreams = 16;
  static constexpr uint64_t kFarAway = uint64_t{1} << 63;  // of an empty stream: no line is near (kMinLineBytes)

  // Bit i: by the lower halves of their lines, stream i is at most kWindow away, and not there. Without a branch: which
  // stream it is, if any, cannot be foreseen (docs/performance-tried.md, "Machines with TLBs and prefetchers").
  uint32_t streams_near(uint64_t line) const {
    const uint32_t from = static_cast<uint32_t>(line) + kWindow;
#if defined(__SSE2__)
    // Numbers without a sign, compared as such with one: 2^31 more of each.
    constexpr uint32_t kSign = 1u << 31;
    const auto all = [](uint32_t n) { return _mm_set1_epi32(static_cast<int>(n + kSign)); };
    const auto four = [&](uint32_t i) {
      const __m128i step = _mm_sub_epi32(all(from), _mm_load_si128(reinterpret_cast<const __m128i*>(lower_) + i));
      return _mm_andnot_si128(_mm_cmpeq_epi32(step, all(kWindow)), _mm_cmplt_epi32(step, all(2 * kWindow + 1)));
    };
    const __m128i low = _mm_packs_epi32(four(0), four(1)), high = _mm_packs_epi32(four(2), four(3));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
#else
    uint32_t near = 0;
    for (uint32_t i = 0; i < kStreams; ++i) {
      const uint32_t step = from - lower_[i];
      near |= uint32_t{step <= 2 * kWindow && step != kWindow} << i;
    }
    return near;
#endif
  }
  void begin(uint32_t stream, uint64_t line, int64_t direction) {
    lru::touch(ages_, kStreams, stream);
    lines_[stream] = line;
    lower_[stream] = static_cast<uint32_t>(line);
    directions_[stream] = direction;
  }
  template <class Want>
  void go_on(uint32_t stream, uint64_t line, int64_t step, Want want) {
    const int64_t direction = step > 0 ? 1 : -1;
    const bool sure = directions_[stream] == direction;
    begin(stream, line, direction);
    if (!sure) return;
    for (uint32_t i = 0; i < config_.degree; ++i)
      want(line + static_cast<uint64_t>(direction * static_cast<int64_t>(config_.distance + i)));
  }

  PrefetchConfig config_;
  uint64_t lines_[kStreams];              // the last of each
  alignas(16) uint32_t lower_[kStreams];  // their lower halves
  int64_t directions_[kStreams] = {};     // 0: one miss only
  alignas(16) uint8_t ages_[kStreams];    // by sim/replacement/lru_ages.h
};

}  // namespace simrun::sim::prefetch
