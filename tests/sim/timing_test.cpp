// Cycles and access times: against sums done by hand, and monotone in every latency.
#include "sim/stats/timing.h"

#include <gtest/gtest.h>

#include "sim/hierarchy.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

MachineConfig two_cores() {
  MachineConfig m = small_machine(2);
  m.levels[0].instruction.latency = 3, m.levels[0].data.latency = 4;
  m.levels[1].unified.latency = 14, m.levels[2].unified.latency = 40;
  m.memory_latency = 200, m.transfer_latency = 30;
  m.core = {0.5, 1, 0.5, 0.25};
  return m;
}

TEST(Timing, SumsDoneByHand) {
  const MachineConfig m = two_cores();
  Hierarchy h(m);
  for (int i = 0; i < 10; ++i) h.access_line(0, Access::kLoad, 100);  // memory once, then level 1
  h.access_line(0, Access::kFetch, 500);                              // memory
  h.access_line(0, Access::kStore, 100);                              // Exclusive: silent
  h.access_line(1, Access::kLoad, 100);                               // level 3 knows, core 0 hands over
  h.access_line(0, Access::kStore, 100);                              // upgrade, permission at level 3
  const Statistics s = h.statistics();
  EXPECT_EQ(s.cores[1].handed_over.reads, 1u);
  EXPECT_EQ(s.cores[0].upgrades[2], 1u);
  ASSERT_EQ(s.transfers.size(), 1u);
  EXPECT_EQ(s.transfers[0], (Transfer{1, 0, 1}));

  const CoreTiming zero = timing_of(m, s.cores[0], 1000);
  EXPECT_DOUBLE_EQ(zero.base_cycles, 500);
  EXPECT_DOUBLE_EQ(zero.stall_cycles[3], 200 * 0.5 + 200);  // a read and a fetch
  EXPECT_DOUBLE_EQ(zero.upgrade_cycles, 40 * 0.25);
  EXPECT_DOUBLE_EQ(zero.cycles, 500 + 300 + 10);
  EXPECT_DOUBLE_EQ(zero.cpi, 0.81);
  EXPECT_DOUBLE_EQ(zero.fetch_amat, 200);
  EXPECT_DOUBLE_EQ(zero.data_amat, (200.0 + 11 * 4) / 12);
  const CoreTiming one = timing_of(m, s.cores[1], 10);
  EXPECT_DOUBLE_EQ(one.data_amat, 40 + 30);
  EXPECT_DOUBLE_EQ(one.cycles, 5 + 40 * 0.5 + 30 * 0.5);
  EXPECT_DOUBLE_EQ(timing_of(m, {}, 0).cpi, 0);
  // A read-modify-write waits for its data as a read does.
  h.access_line(0, Access::kReadModifyWrite, 900);
  h.access_line(1, Access::kReadModifyWrite, 900);
  h.access_line(1, Access::kStore, 1700);
  const Statistics later = h.statistics();
  EXPECT_DOUBLE_EQ(timing_of(m, later.cores[0], 1000).cycles, zero.cycles + 200 * 0.5);
  EXPECT_DOUBLE_EQ(timing_of(m, later.cores[1], 10).cycles, one.cycles + 40 * 0.5 + 30 * 0.5 + 200 * 0.25);
}

TEST(Timing, GrowsWithEveryLatency) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50; ++i) {
    MachineConfig m = random_machine_with_policies(random);
    Hierarchy h(m);
    for (const Reference& r : random_stream(random, m, 2000)) h.access(r.core, r.kind, r.address, r.bytes);
    const Statistics s = h.statistics();
    const auto cycles = [&] {
      double sum = 0;
      for (const CoreStatistics& core : s.cores) {
        const CoreTiming t = timing_of(m, core, 100);
        sum += t.cycles + t.data_amat + t.fetch_amat;
      }
      return sum;
    };
    m.core.write_exposed = 0.5;
    double before = cycles();
    std::vector<uint32_t*> latencies = {&m.memory_latency, &m.transfer_latency};
    for (LevelConfig& level : m.levels)
      for (CacheShape* shape : {&level.unified, &level.instruction, &level.data}) latencies.push_back(&shape->latency);
    for (uint32_t* latency : latencies) {
      *latency += 10;
      EXPECT_GE(cycles(), before);
      before = cycles();
    }
  }
}

}  // namespace
}  // namespace simrun::sim
