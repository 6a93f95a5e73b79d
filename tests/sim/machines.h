// Machines and streams for the tests of the cache model.
#pragma once

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "sim/hierarchy.h"

namespace simrun::sim {

struct Reference {
  uint32_t core;
  Access kind;
  uint64_t address;
  uint32_t bytes;
};

// One unified level; `size` in bytes.
inline LevelConfig unified_level(const std::string& name, uint32_t cores_per_cache, uint64_t size, uint32_t ways) {
  LevelConfig level;
  level.name = name;
  level.cores_per_cache = cores_per_cache;
  level.unified = {size, ways, 0};
  return level;
}

inline LevelConfig split_level(const std::string& name, uint32_t cores_per_cache, uint64_t size, uint32_t ways) {
  LevelConfig level = unified_level(name, cores_per_cache, 0, 0);
  level.split = true;
  level.instruction = level.data = {size, ways, 0};
  return level;
}

// Split private L1 of 4 KiB, private L2 of 16 KiB, shared L3 of 128 KiB; 64-byte lines.
inline MachineConfig small_machine(uint32_t cores) {
  MachineConfig m;
  m.name = "small";
  m.cores = cores;
  m.levels = {split_level("L1", 1, 4 << 10, 4), unified_level("L2", 1, 16 << 10, 8),
              unified_level("L3", cores, 128 << 10, 16)};
  return m;
}

// A number that the environment gives: SIMRUN_TEST_CASES asks for more random cases than usual and SIMRUN_TEST_FIRST
// for others (tests/sim/nightly), SIMRUN_TEST_SEED for one alone.
inline uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

std::string describe(const MachineConfig& machine);
// The statistics of `level`; std::out_of_range without such a level.
CacheStatistics total(const Hierarchy& hierarchy, const std::string& level);
// Small machines of every topology that the model knows: 1 to 70 cores, one to four levels, split and not, private,
// clustered, with and without a cache shared by all; any number of sets.
MachineConfig random_machine(std::mt19937_64& random);
// The same with every policy, protocol and inclusion that is allowed together.
// LRU, 8 or 16 ways behind level 1, two or three levels: its misses go the way of sim/coherence/lru_miss.h, mostly.
MachineConfig random_usual_machine(std::mt19937_64& random);
// The same as processors are built, more or less: TLBs, prefetchers (a stride prefetcher in level 1, a stream prefetcher in level 2, mostly), a
// level 2 that includes level 1 or does not, by tree-PLRU then, any level 3.
MachineConfig random_real_machine(std::mt19937_64& random);
MachineConfig random_machine_with_policies(std::mt19937_64& random);
// The same with prefetchers, TLBs, pages, latencies.
MachineConfig random_machine_with_everything(std::mt19937_64& random);
// References of all cores with some locality to few lines, so that all of sharing, conflict and reuse happens.
std::vector<Reference> random_stream(std::mt19937_64& random, const MachineConfig& machine, size_t length);

}  // namespace simrun::sim
