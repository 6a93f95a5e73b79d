#include "planted_phases.h"

#include <cmath>

#include "simpoint/random.h"

namespace simrun::simpoint {

PlantedProfile plant(const PlantedOptions& o) {
  constexpr uint32_t kShared = 20, kOwn = 30;
  Random random(o.seed);
  std::vector<std::vector<Entry>> typical(o.phases);
  for (uint32_t phase = 0; phase < o.phases; ++phase) {
    for (uint32_t b = 0; b < kShared; ++b) typical[phase].push_back({1 + b, 1000 * random.unit()});
    for (uint32_t b = 0; b < kOwn; ++b)
      typical[phase].push_back({1 + kShared + phase * kOwn + b, 10 + 30000 * random.unit()});
  }
  PlantedProfile made;
  uint32_t phase = 0, left = 0;
  for (uint32_t i = 0; i < o.intervals; ++i) {
    if (left-- == 0) {
      phase = i < o.phases * o.stretch ? i / o.stretch : static_cast<uint32_t>(random.next() % o.phases);
      left =
          i < o.phases * o.stretch ? o.stretch - 1 : o.stretch / 2 + static_cast<uint32_t>(random.next() % o.stretch);
    }
    std::vector<Entry> interval = typical[phase];
    for (Entry& entry : interval) entry.count = std::floor(entry.count * (1 + o.noise * (2 * random.unit() - 1))) + 1;
    made.intervals.push_back(std::move(interval));
    made.phase.push_back(phase);
  }
  return made;
}

ProjectedIntervals project(const PlantedProfile& profile, uint32_t dimensions, uint64_t seed) {
  Projector projector(dimensions, seed);
  for (const auto& interval : profile.intervals) projector.add(interval);
  return projector.finish();
}

}  // namespace simrun::simpoint
