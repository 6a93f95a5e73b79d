// Machines and streams that several benchmarks use.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

inline constexpr uint64_t kLine = 64;
inline constexpr size_t kStream = 1 << 16;

// l3_8core.yaml with any number of cores.
inline MachineConfig machine(uint32_t cores) {
  MachineConfig m;
  m.name = "bench";
  m.cores = cores;
  m.levels.resize(3);
  m.levels[0].name = "L1", m.levels[0].split = true;
  m.levels[0].instruction = m.levels[0].data = {32 << 10, 8, 4};
  m.levels[1].name = "L2", m.levels[1].unified = {512 << 10, 8, 14};
  m.levels[2].name = "L3", m.levels[2].unified = {16 << 20, 16, 42}, m.levels[2].cores_per_cache = cores;
  return m;
}

struct Reference {
  uint64_t line;
  Access kind;
};

// Random lines of a working set, a quarter of them stores.
inline std::vector<Reference> random_stream(std::mt19937_64& random, uint64_t bytes) {
  const uint64_t lines = bytes / kLine;
  std::vector<Reference> stream(lines > kStream ? 16 * kStream : kStream);
  for (Reference& r : stream) r = {random() % lines, random() % 4 == 0 ? Access::kStore : Access::kLoad};
  return stream;
}

// The hard case of hits: no pattern in lines or kinds that a branch predictor could learn; a fetch per line of code
// that loops, stack and table accesses, 97 % hits in level 1.
inline std::vector<Reference> mixed_stream(std::mt19937_64& random) {
  std::vector<Reference> stream;
  for (size_t i = 0; i < kStream; ++i) {
    if (i % 3 == 0) stream.push_back({1 << 20 | (i / 12) % 64, Access::kFetch});
    const uint64_t r = random() % 100;
    const uint64_t line = r < 60 ? 1 << 21 | r / 20 : r < 97 ? 1 << 22 | random() % 200 : 1 << 23 | random() % 4000;
    stream.push_back({line, i % 4 == 0 ? Access::kStore : Access::kLoad});
  }
  return stream;
}

// Hits of one pattern: 8-byte loads through 16 KiB.
inline std::vector<Reference> scan_stream() {
  std::vector<Reference> stream(kStream);
  for (size_t i = 0; i < kStream; ++i) stream[i] = {1 << 21 | i / 8 % 256, Access::kLoad};
  return stream;
}

// Lines that all cores use: every second reference is to one of 4096 of them, and every eighth of these is a store.
inline std::vector<Reference> shared_stream(std::mt19937_64& random) {
  std::vector<Reference> stream(kStream);
  for (size_t i = 0; i < kStream; ++i)
    stream[i] = i % 2 == 0 ? Reference{1 << 22 | random() % 4096, random() % 8 == 0 ? Access::kStore : Access::kLoad}
                           : Reference{1 << 21 | (i / 1024 % 8) << 8 | random() % 200, Access::kLoad};
  return stream;
}

}  // namespace simrun::sim
