// The counts of intervals: of threads that have ended there is nothing in later ones, nor of cores that have not run.
#include "sim/stats/interval_series.h"

#include <gtest/gtest.h>

#include "sim/hierarchy.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

// A thousand threads, one after the other, three in each interval; the first one runs now and then.
TEST(IntervalSeries, HasTheThreadsThatRan) {
  Hierarchy model(small_machine(1));
  IntervalSeries series;
  uint64_t instructions = 0;
  for (uint32_t thread = 1; thread <= 999; ++thread) {
    model.run_thread(0, thread);
    for (uint32_t k = 0; k < thread % 5 + 1; ++k) model.access(0, Access::kLoad, uint64_t{thread} * 4096 + k * 64, 8);
    instructions += 10;
    if (thread % 3 != 0) continue;
    model.run_thread(0, 0);
    if (thread % 9 == 0) model.access(0, Access::kStore, 64, 8);
    series.take(instructions, model.statistics());
  }
  ASSERT_EQ(series.intervals().size(), 333u);
  std::vector<CoreStatistics> sums(1000);
  for (size_t i = 0; i < series.intervals().size(); ++i) {
    const Interval& interval = series.intervals()[i];
    ASSERT_EQ(interval.by_thread.size(), i % 3 == 2 ? 4u : 3u) << "interval " << i;
    for (const IndexedCounts& of : interval.by_thread) sums[of.index] += of.counts;
  }
  EXPECT_EQ(sums, model.statistics().threads);
}

// Of a hundred cores two run, and one of them in the second interval only.
TEST(IntervalSeries, HasTheCoresThatRan) {
  Hierarchy model(small_machine(100));
  IntervalSeries series;
  model.access(7, Access::kLoad, 4096, 8);
  series.take(10, model.statistics());
  model.access(7, Access::kLoad, 4096, 8);
  model.access(93, Access::kStore, 8192, 8);
  series.take(20, model.statistics());
  ASSERT_EQ(series.intervals().size(), 2u);
  std::vector<CoreStatistics> sums = Hierarchy(small_machine(100)).statistics().cores;
  std::vector<std::vector<uint32_t>> cores;
  for (const Interval& interval : series.intervals()) {
    cores.emplace_back();
    for (const IndexedCounts& of : interval.by_core) {
      cores.back().push_back(of.index);
      sums[of.index] += of.counts;
    }
  }
  EXPECT_EQ(cores, (std::vector<std::vector<uint32_t>>{{7}, {7, 93}}));
  EXPECT_EQ(sums, model.statistics().cores);
}

// What a warm model had counted before belongs to no interval, and taken from what it has counted in the end leaves what came behind.
TEST(IntervalSeries, BeginsWithAWarmModel) {
  for (uint64_t seed = 0; seed < from_environment("SIMRUN_TEST_CASES", 40); ++seed) {
    std::mt19937_64 random(seed);
    const MachineConfig machine = random_machine_with_everything(random);
    SCOPED_TRACE(describe(machine));
    Hierarchy model(machine);
    uint32_t thread = 0;
    const auto run = [&] {
      for (const Reference& r : random_stream(random, machine, 3000)) {
        if (random() % 64 == 0) model.run_thread(r.core, thread++ % 50);
        model.access(r.core, r.kind, r.address, r.bytes);
      }
    };
    run();
    const Statistics before = model.statistics();
    IntervalSeries series;
    series.begin(before);
    run();
    const Statistics all = model.statistics();
    series.take(3000, all);
    Statistics behind = all;
    behind -= before;
    ASSERT_EQ(series.intervals().size(), 1u);
    const Interval& interval = series.intervals()[0];
    EXPECT_EQ(interval.instructions, 3000u);
    for (size_t i = 0; i < behind.levels.size(); ++i) EXPECT_EQ(interval.levels[i], behind.levels[i].total);
    EXPECT_EQ(interval.memory, behind.memory);
    EXPECT_EQ(interval.transfers, behind.transfers);
    Statistics sum = before;
    sum += behind;
    EXPECT_EQ(sum, all);
  }
}

}  // namespace
}  // namespace simrun::sim
