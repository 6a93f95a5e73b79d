// Which bytes of a line: a bit per byte for lines up to 128 bytes; for longer lines a bit per 1/128 of the line.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace simrun::sim {

struct ByteMask {
  static constexpr uint32_t kBits = 128;
  uint64_t words[2] = {0, 0};

  // Bytes that one bit stands for.
  static constexpr uint32_t granule(uint32_t line_bytes) { return std::max(1u, line_bytes / kBits); }
  // The bytes [offset, offset + bytes) of a line; they must lie in it.
  static ByteMask of(uint32_t offset, uint32_t bytes, uint32_t line_bytes) {
    const int shift = std::countr_zero(granule(line_bytes));  // lines are powers of two
    const uint32_t first = offset >> shift, last = (offset + std::max(bytes, 1u) - 1) >> shift;
    ByteMask mask;
    for (uint32_t word = first / 64; word <= last / 64; ++word) {
      const uint32_t low = word == first / 64 ? first % 64 : 0, high = word == last / 64 ? last % 64 : 63;
      mask.words[word] = (~uint64_t{0} >> (63 - high)) & (~uint64_t{0} << low);
    }
    return mask;
  }

  bool test(uint32_t bit) const { return (words[bit / 64] >> (bit % 64) & 1) != 0; }
  bool any() const { return (words[0] | words[1]) != 0; }
  bool overlaps(const ByteMask& o) const { return ((words[0] & o.words[0]) | (words[1] & o.words[1])) != 0; }
  uint32_t count() const { return static_cast<uint32_t>(std::popcount(words[0]) + std::popcount(words[1])); }
  ByteMask& operator|=(const ByteMask& o) {
    words[0] |= o.words[0], words[1] |= o.words[1];
    return *this;
  }
  bool operator==(const ByteMask&) const = default;
};

}  // namespace simrun::sim
