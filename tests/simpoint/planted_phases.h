// Synthetic profiles whose phases are known: what the analysis has to find again.
#pragma once

#include <cstdint>
#include <vector>

#include "simpoint/projection.h"

namespace simrun::simpoint {

struct PlantedProfile {
  std::vector<std::vector<Entry>> intervals;
  std::vector<uint32_t> phase;  // of each interval
};

struct PlantedOptions {
  uint32_t phases = 3;
  uint32_t intervals = 1000;
  uint32_t stretch = 20;  // about how many intervals a phase lasts until the next begins
  double noise = 0.05;    // each count is multiplied by 1 + noise * uniform [-1, 1]
  uint64_t seed = 1;
};

// Each phase has blocks of its own and some that all share, as programs do.
PlantedProfile plant(const PlantedOptions& options);

ProjectedIntervals project(const PlantedProfile& profile, uint32_t dimensions = 15, uint64_t seed = 2042712918);

}  // namespace simrun::simpoint
