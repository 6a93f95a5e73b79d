#include "cli/phases/reuse_distances.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace simrun::cli {

namespace {

constexpr uint32_t kLeast = 8;        // 16 KiB: what is nearer is in any first level
constexpr double kOfFirstUse = 1024;  // as 2^20 lines

}  // namespace

double ReuseDistances::worth(uint32_t bucket) {
  if (bucket == kFirstUse) return kOfFirstUse;
  return bucket < kLeast ? 0 : std::exp2(bucket / 2.0);
}

void ReuseDistances::look_at(uint64_t line) {
  const uint64_t distance = lines_->access(line);
  const auto power = static_cast<uint32_t>(std::bit_width((distance << kSampledBits) | 1)) - 1;
  ++references_[distance == sim::StackDistance::kFirst ? kFirstUse : std::min(kFirstUse - 1, power)];
}

}  // namespace simrun::cli
