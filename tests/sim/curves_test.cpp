// The curve of one pass equals a simulation of each size.
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "sim/curves/curve_model.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

TEST(StackDistance, EqualsACacheOfEachSize) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    StackDistance curve;
    std::vector<uint64_t> lines(4000);
    for (uint64_t& line : lines) line = random() % (1 + random() % 150);
    for (const uint64_t line : lines) curve.access(line);
    for (const uint32_t ways : {1u, 2u, 3u, 7u, 20u, 64u, 126u}) {
      MachineConfig m = small_machine(1);
      m.levels = {unified_level("L1", 1, uint64_t{64} * ways, ways)};
      Hierarchy h(m);
      for (const uint64_t line : lines) h.access_line(0, Access::kLoad, line);
      ASSERT_EQ(curve.stack().misses(ways), h.statistics().levels[0].total.requests.misses.reads) << ways;
    }
  }
}

// The stack as the paper has it: a list, and holes in it.
TEST(StackDistance, EqualsAListOfLines) {
  constexpr uint64_t kHole = ~uint64_t{0};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    StackDistance curve;
    std::vector<uint64_t> stack, met;
    const uint64_t lines = 1 + random() % 80, invalidations = random() % 40;
    for (uint32_t i = 0; i < (seed % 20 == 0 ? 200'000 : 3000); ++i) {  // so that times run out
      const uint64_t line = random() % (1 + random() % lines);
      const auto at = std::find(stack.begin(), stack.end(), line);
      if (random() % 100 < invalidations) {
        curve.invalidate(line);
        if (at != stack.end()) *at = kHole;
        continue;
      }
      uint64_t expected = StackDistance::kTakenAway;
      if (at != stack.end())
        expected = static_cast<uint64_t>(at - stack.begin());
      else if (std::find(met.begin(), met.end(), line) == met.end())
        met.push_back(line), expected = StackDistance::kFirst;
      ASSERT_EQ(curve.access(line), expected) << "seed " << seed << ", access " << i;
      const auto hole = std::find(stack.begin(), at, kHole);
      if (at != stack.end()) *at = kHole;
      if (hole != stack.end()) stack.erase(hole);
      stack.insert(stack.begin(), line);
    }
    EXPECT_EQ(curve.stack().distinct_lines(), met.size());
  }
}

// Private caches that lose lines to each other's writes and to flushes.
TEST(CurveModel, EqualsCoherentCachesOfEachSize) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const uint32_t cores = 1 + static_cast<uint32_t>(random() % 4);
    const uint64_t lines = 5 + random() % 120, write_percent = random() % 40;
    const bool split = random() % 2 == 0, coherent = random() % 4 != 0;
    const auto machine = [&](uint32_t ways) {
      MachineConfig m = small_machine(cores);
      if (!coherent) m.coherence = Coherence::kNone;
      m.levels = {split ? split_level("L1", 1, uint64_t{64} * ways, ways)
                        : unified_level("L1", 1, uint64_t{64} * ways, ways)};
      return m;
    };
    CurveModel curve(machine(4), split ? "L1D" : "L1");
    std::vector<Reference> stream(5000);
    for (Reference& r : stream) {
      r.core = static_cast<uint32_t>(random() % cores);
      r.kind = random() % 100 < write_percent ? Access::kStore
               : random() % 50 == 0           ? Access::kFlush
               : random() % 10 == 0           ? Access::kFetch
                                              : Access::kLoad;
      r.address = random() % (1 + random() % (64 * lines));
      r.bytes = 8;
      curve.access(r.core, r.kind, r.address, r.bytes);
    }
    const MissCurve result = curve.curve();
    EXPECT_EQ(result.caches, cores);
    for (const MissCurve::Point& point : result.points) {
      const auto ways = static_cast<uint32_t>(point.bytes / 64);
      if (ways > 126) break;
      Hierarchy h(machine(ways));
      for (const Reference& r : stream) h.access(r.core, r.kind, r.address, r.bytes);
      ASSERT_EQ(point.misses, all(h.statistics().levels[split].total.requests.misses)) << ways << " seed " << seed;
    }
    EXPECT_EQ(result.points.back().misses, result.compulsory + result.invalidated);
    // Distances are of the requests, whatever the cache itself had replaced.
    Hierarchy detailed(machine(4));
    detailed.keep_details();
    for (const Reference& r : stream) detailed.access_detailed(r.core, r.kind, r.address, r.bytes, {r.core, 0, 1});
    const ReuseStatistics reuse = detailed.statistics().levels[split].details->reuse;
    EXPECT_EQ(reuse.first, result.compulsory) << "seed " << seed;
    EXPECT_EQ(reuse.taken_away, result.invalidated) << "seed " << seed;
  }
}

// The requests of a second level do not depend on its size when it includes nothing.
TEST(CurveModel, SecondLevel) {
  const auto machine = [](uint32_t ways) {
    MachineConfig m = small_machine(1);
    m.levels = {split_level("L1", 1, 512, 2), unified_level("L2", 1, uint64_t{64} * ways, ways)};
    m.levels[1].inclusion = Inclusion::kNonInclusive;
    return m;
  };
  std::mt19937_64 random(6);
  std::vector<uint64_t> lines(20'000);
  for (uint64_t& line : lines) line = random() % (1 + random() % 300);
  CurveModel curve(machine(8), "L2");
  for (const uint64_t line : lines) curve.access_line(0, Access::kLoad, line);
  for (const MissCurve::Point& point : curve.curve().points) {
    const auto ways = static_cast<uint32_t>(point.bytes / 64);
    if (ways > 126) break;
    Hierarchy h(machine(ways));
    for (const uint64_t line : lines) h.access_line(0, Access::kLoad, line);
    EXPECT_EQ(point.misses, h.statistics().levels[2].total.requests.misses.reads) << ways;
  }
  EXPECT_THROW(CurveModel(machine(8), "L4"), UserError);
}

TEST(StackDistance, RenumbersWhenTimesRunOut) {
  StackDistance curve;
  const uint64_t lines = 1000, rounds = 300;  // 300,000 times
  for (uint64_t i = 0; i < lines * rounds; ++i) curve.access(i % lines);
  EXPECT_EQ(curve.stack().misses(lines), lines);
  EXPECT_EQ(curve.stack().misses(lines - 1), lines * rounds);
  EXPECT_EQ(curve.stack().compulsory(), lines);
}

}  // namespace
}  // namespace simrun::sim
