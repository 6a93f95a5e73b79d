// The random numbers of phase analysis: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), as a sequence and as a function
// of a position. Fixed for ever, so that a seed gives the same answer with every version, compiler and number of
// threads.
#pragma once

#include <cstdint>

namespace simrun::simpoint {

constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

// The `position`-th number (from 0) of the sequence that starts at `seed`.
constexpr uint64_t random_at(uint64_t seed, uint64_t position) { return mix64(seed + (position + 1) * kGolden); }

// [0, 1), 53 bits.
constexpr double to_unit(uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  uint64_t next() { return random_at(seed_, position_++); }
  double unit() { return to_unit(next()); }

 private:
  uint64_t seed_;
  uint64_t position_ = 0;
};

}  // namespace simrun::simpoint
