// How far apart the references of a thread to one line are: LRU stack distances (Mattson et al. 1970), by powers of two. Intervals that execute
// the same code on other data differ in them (the "LDV" of BarrierPoint: Carlson et al., ISPASS 2014).
//
// One line in 16 is looked at, chosen by its address, and its distance is 16 times that among the chosen ones (SHARDS: Waldspurger et al.,
// FAST 2015).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "sim/curves/stack_distance.h"

namespace simrun::cli {

class ReuseDistances {
 public:
  // Bucket b: from 2^b lines on, below 2^(b+1); the last one: lines that were not referenced before.
  static constexpr uint32_t kBuckets = 32, kFirstUse = kBuckets - 1;

  static constexpr uint32_t kLineBytes = 64;

  void access(uint64_t line) {
    if ((line * 0x9e3779b97f4a7c15u) >> (64 - kSampledBits) != 0) [[likely]]
      return;
    look_at(line);
  }

  // f(bucket, references), of those since the last call.
  template <class F>
  void take(F f) {
    for (uint32_t bucket = 0; bucket < kBuckets; ++bucket)
      if (const uint64_t chosen = std::exchange(references_[bucket], 0); chosen != 0) f(bucket, chosen << kSampledBits);
  }

  // No more will come; what was not taken stays.
  void end() { lines_.reset(); }

  // What one reference counts in a vector, as so many instructions: in proportion to the square root of the distance (decision 50), nothing where
  // any first level has the line.
  static double worth(uint32_t bucket);

 private:
  static constexpr uint32_t kSampledBits = 4;
  void look_at(uint64_t line);

  std::optional<sim::StackDistance> lines_{std::in_place};
  std::array<uint64_t, kBuckets> references_{};  // of chosen lines
};

}  // namespace simrun::cli
