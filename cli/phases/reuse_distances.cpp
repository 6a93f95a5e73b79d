#include "cli/phases/reuse_distances.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace simrun::cli {

namespace {

constexpr uint32_t kLeast = 8;         // 16 KiB: what is nearer is in any first level
constexpr uint32_t kFirstUseAs = 20;   // 64 MiB
constexpr double kOfOneLine = 1 / 1.5;

}  // namespace

double ReuseDistances::worth(uint32_t bucket) {
  return bucket < kLeast ? 0 : kOfOneLine * std::exp2((bucket == kFirstUse ? kFirstUseAs : bucket) / 2.0);
}

void ReuseDistances::look_at(uint64_t line) {
  const uint64_t distance = lines_->access(line);
  const auto power = static_cast<uint32_t>(std::bit_width((distance << kSampledBits) | 1)) - 1;
  ++references_[distance == sim::StackDistance::kFirst ? kFirstUse : std::min(kFirstUse - 1, power)];
}

}  // namespace simrun::cli
