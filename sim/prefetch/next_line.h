// The lines behind the one that missed (Smith, ACM Computing Surveys 1982: tagged, so that the first use of a
// prefetched line goes on).
#pragma once

#include <cstdint>

#include "sim/build/machine_config.h"

namespace simrun::sim::prefetch {

class NextLine {
 public:
  explicit NextLine(const PrefetchConfig& config) : config_(config) {}
  template <class Want>
  void observe(uint64_t line, uint64_t /*pc*/, bool is_new, Want want) {
    if (!is_new) return;
    for (uint32_t i = 0; i < config_.degree; ++i) want(line + config_.distance + i);
  }

 private:
  PrefetchConfig config_;
};

}  // namespace simrun::sim::prefetch
