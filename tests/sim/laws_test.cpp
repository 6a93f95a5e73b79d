// What holds for every machine and stream.
#include <gtest/gtest.h>

#include <set>

#include "base/user_error.h"
#include "sim/stats/broken_law.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

uint64_t references(const CoreStatistics& c) {
  return c.fetches + c.loads + c.stores + c.read_modify_writes + c.prefetches;
}

TEST(Laws, FlowsBetweenLevelsBalance) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed * 77);
    const MachineConfig machine = random_machine(random);
    SCOPED_TRACE(describe(machine));
    Hierarchy h(machine);
    uint64_t flushed_extra = 0;
    for (const Reference& r : random_stream(random, machine, 2000)) {
      h.access(r.core, r.kind, r.address, r.bytes);
      const uint64_t end = r.address + (r.bytes == 0 ? 0 : r.bytes - 1);
      if (r.kind == Access::kFlush) flushed_extra += end / machine.line_bytes - r.address / machine.line_bytes;
    }
    const Statistics s = h.statistics();
    const std::vector<CacheStatistics> levels = by_level(s);

    CoreStatistics core_sum;
    for (const CoreStatistics& c : s.cores) core_sum += c;
    EXPECT_EQ(all(levels[0].requests.accesses), references(core_sum) + core_sum.line_crossings - flushed_extra);

    for (size_t i = 0; i < levels.size(); ++i) {
      const bool last = i + 1 == levels.size();
      const CacheStatistics& here = levels[i];
      EXPECT_LE(all(here.requests.misses), all(here.requests.accesses));
      EXPECT_EQ(here.write_backs_out, last ? s.memory.writes : levels[i + 1].write_backs_in);
      EXPECT_EQ(here.invalidations_received, last ? s.memory.invalidations_sent : levels[i + 1].invalidations_sent);
      if (!last) {
        EXPECT_TRUE(here.requests.misses == levels[i + 1].requests.accesses);
      }
      EXPECT_LE(here.dirty_interventions, here.interventions);
      EXPECT_LE(here.downgrades, here.interventions);
      // What came in and did not leave is in the caches.
      const uint64_t left = here.evictions + here.back_invalidations + here.flushed_lines + here.invalidations_received;
      EXPECT_GE(all(here.requests.misses), left);
    }
    EXPECT_LE(s.memory.reads, all(levels.back().requests.misses));
    EXPECT_EQ(levels.back().back_invalidations, 0u);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Laws, InfiniteCacheMissesOncePerDistinctLine) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    MachineConfig machine = small_machine(1);
    machine.levels = {unified_level("L1", 1, 64 << 20, 16)};
    Hierarchy h(machine);
    std::set<uint64_t> lines;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t line = random() % (1 + random() % 10'000);
      lines.insert(line);
      h.access_line(0, static_cast<Access>(random() % 5), line);
    }
    EXPECT_EQ(all(h.statistics().levels[0].total.requests.misses), lines.size());
    EXPECT_EQ(h.statistics().levels[0].total.evictions, 0u);
    EXPECT_EQ(h.statistics().memory.reads, lines.size());
  }
}

// LRU has the stack property: more ways of the same sets never miss more (one core, one level).
TEST(Laws, MoreWaysNeverMissMore) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    uint64_t previous = ~uint64_t{0};
    for (uint32_t ways = 1; ways <= 40; ++ways) {
      std::mt19937_64 random(seed);
      MachineConfig machine = small_machine(1);
      machine.levels = {unified_level("L1", 1, uint64_t{64} * 8 * ways, ways)};
      Hierarchy h(machine);
      for (int i = 0; i < 5000; ++i) h.access_line(0, Access::kLoad, random() % (1 + random() % 400));
      const uint64_t misses = h.statistics().levels[0].total.requests.misses.reads;
      EXPECT_LE(misses, previous) << ways;
      previous = misses;
    }
  }
}

TEST(Laws, ImpossibleMachineIsAUserError) {
  MachineConfig machine = small_machine(1);
  machine.levels[1].unified.ways = 7;
  EXPECT_THROW(Hierarchy{machine}, UserError);
}

}  // namespace
}  // namespace simrun::sim
