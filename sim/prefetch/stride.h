// Strides by instruction (Chen and Baer, IEEE Transactions on Computers 1995): a table of the last line and stride of
// each instruction, 256 entries found by the low bits of its address; two equal strides in a row, and it prefetches.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/build/machine_config.h"

namespace simrun::sim::prefetch {

class Stride {
 public:
  explicit Stride(const PrefetchConfig& config) : config_(config) {}
  // observe() would change nothing and want nothing.
  bool knows(uint64_t line, uint64_t pc) const {
    const Entry& e = entries_[pc % kEntries];
    return ((e.pc ^ pc) | (e.line ^ line)) == 0 && e.used;
  }
  void observe(uint64_t line, uint64_t pc, bool /*is_new*/, std::vector<uint64_t>& wanted) {
    Entry& e = entries_[pc % kEntries];
    if (!e.used || e.pc != pc) {
      e = {true, pc, line, 0, 0};
      return;
    }
    const uint64_t stride = line - e.line;
    if (stride == 0) return;
    e.line = line;
    if (stride != e.stride) {
      e.stride = stride, e.confidence = 0;
      return;
    }
    if (e.confidence < kSure) ++e.confidence;
    if (e.confidence < kSure) return;
    for (uint32_t i = 0; i < config_.degree; ++i) wanted.push_back(line + stride * (config_.distance + i));
  }

 private:
  static constexpr uint64_t kEntries = 256;
  static constexpr uint8_t kSure = 1;  // repetitions
  struct Entry {
    bool used = false;
    uint64_t pc = 0, line = 0, stride = 0;
    uint8_t confidence = 0;
  };
  PrefetchConfig config_;
  std::array<Entry, kEntries> entries_{};
};

}  // namespace simrun::sim::prefetch
