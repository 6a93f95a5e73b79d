// Streams whose counts can be said beforehand.
#include <gtest/gtest.h>

#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kL1Lines = 64, kL2Lines = 256, kL3Lines = 2048;  // of small_machine()

void scan(Hierarchy& h, Access kind, uint64_t lines, uint64_t stride = 1) {
  for (uint64_t i = 0; i < lines; ++i) h.access_line(0, kind, i * stride);
}

TEST(ClosedForm, SequentialScanMissesOncePerLine) {
  Hierarchy h(small_machine(1));
  constexpr uint64_t kBytes = 1 << 20;
  for (uint64_t a = 0; a < kBytes; a += 8) h.access(0, Access::kLoad, a, 8);
  EXPECT_EQ(total(h, "L1D").requests.accesses.reads, kBytes / 8);
  for (const char* level : {"L1D", "L2", "L3"})
    EXPECT_EQ(total(h, level).requests.misses.reads, kBytes / kLine) << level;
  EXPECT_EQ(total(h, "L2").requests.accesses.demand(), kBytes / kLine);
  EXPECT_EQ(h.statistics().memory.reads, kBytes / kLine);
  EXPECT_EQ(h.statistics().memory.writes, 0u);
  EXPECT_EQ(total(h, "L1I").requests.accesses.demand(), 0u);
}

TEST(ClosedForm, StridedScanMissesOncePerLineTouched) {
  for (const uint64_t stride : {8u, 16u, 24u, 64u, 72u, 256u, 4096u}) {
    Hierarchy h(small_machine(1));
    constexpr uint64_t kCount = 5000;
    for (uint64_t i = 0; i < kCount; ++i) h.access(0, Access::kLoad, i * stride, 8);
    const uint64_t lines = stride >= kLine ? kCount : (kCount - 1) * stride / kLine + 1;
    EXPECT_EQ(total(h, "L1D").requests.misses.reads, lines) << stride;
    EXPECT_EQ(h.statistics().memory.reads, lines) << stride;
  }
}

TEST(ClosedForm, EveryWrittenLineThatDoesNotFitIsWrittenBackOnce) {
  Hierarchy h(small_machine(1));
  constexpr uint64_t kLines = 10'000;
  scan(h, Access::kStore, kLines);
  EXPECT_EQ(total(h, "L1D").write_backs_out, kLines - kL1Lines);
  EXPECT_EQ(total(h, "L2").write_backs_out, kLines - kL2Lines);
  EXPECT_EQ(total(h, "L3").write_backs_out, kLines - kL3Lines);
  EXPECT_EQ(h.statistics().memory.writes, kLines - kL3Lines);
  EXPECT_EQ(total(h, "L1D").requests.misses.writes, kLines);
  EXPECT_EQ(total(h, "L1D").upgrades, 0u);  // alone on the line: Exclusive at once
}

// A cyclic scan of exactly a level's capacity hits there from the second pass on; one line more makes the one overfull
// set miss on each of its ways + 1 lines in each pass (LRU), and no other.
TEST(ClosedForm, WorkingSetJustUnderAndJustOverEachLevel) {
  struct {
    const char* level;
    uint64_t lines, ways;
  } constexpr kLevels[] = {{"L1D", kL1Lines, 4}, {"L2", kL2Lines, 8}, {"L3", kL3Lines, 16}};
  constexpr uint64_t kPasses = 10;
  for (const auto& [level, lines, ways] : kLevels) {
    Hierarchy under(small_machine(1)), over(small_machine(1));
    for (uint64_t pass = 0; pass < kPasses; ++pass) {
      scan(under, Access::kLoad, lines);
      scan(over, Access::kLoad, lines + 1);
    }
    EXPECT_EQ(total(under, level).requests.misses.reads, lines) << level;
    EXPECT_EQ(total(under, level).evictions, 0u) << level;
    EXPECT_EQ(total(over, level).requests.misses.reads, lines + 1 + (kPasses - 1) * (ways + 1)) << level;
  }
}

TEST(ClosedForm, LinesOfOneSetConflict) {
  Hierarchy fits(small_machine(1)), conflicts(small_machine(1));
  for (int pass = 0; pass < 100; ++pass) {
    scan(fits, Access::kLoad, 4, 16);       // 4 ways, 16 sets in L1
    scan(conflicts, Access::kLoad, 5, 16);  // 5 lines in 4 ways, in cyclic order
  }
  EXPECT_EQ(total(fits, "L1D").requests.misses.reads, 4u);
  EXPECT_EQ(total(conflicts, "L1D").requests.misses.reads, 500u);
  EXPECT_EQ(total(conflicts, "L2").requests.misses.reads, 5u);
}

// An inclusive level that does not see the hits above it evicts the hottest line in the end.
TEST(ClosedForm, InclusionVictim) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 4 * kLine, 4), unified_level("L2", 1, 8 * kLine, 8)};
  Hierarchy h(m);
  h.access_line(0, Access::kLoad, 1000);
  for (uint64_t i = 0; i < 7; ++i) {
    h.access_line(0, Access::kLoad, i);
    h.access_line(0, Access::kLoad, 1000);
  }
  EXPECT_EQ(total(h, "L1").back_invalidations, 0u);
  EXPECT_EQ(total(h, "L1").requests.misses.reads, 8u);
  h.access_line(0, Access::kLoad, 7);  // the ninth line of eight ways
  EXPECT_EQ(total(h, "L1").back_invalidations, 1u);
  EXPECT_EQ(total(h, "L1").evictions, 4u);  // of 0..7: three found ways empty, the last took the one that 1000 left
  h.access_line(0, Access::kLoad, 1000);
  EXPECT_EQ(total(h, "L1").requests.misses.reads, 10u);
}

TEST(ClosedForm, TwoWritersOfOneLineTransferItEachTime) {
  constexpr uint64_t kRounds = 1000;
  Hierarchy h(small_machine(2));
  for (uint64_t i = 0; i < kRounds; ++i)
    for (const uint32_t core : {0u, 1u}) h.access(core, Access::kStore, 4096 + 8 * core, 8);
  const uint64_t transfers = 2 * kRounds - 1;
  for (const char* level : {"L1D", "L2"}) {
    const CacheStatistics s = total(h, level);
    EXPECT_EQ(s.requests.misses.writes, 2 * kRounds) << level;
    EXPECT_EQ(s.invalidations_received, transfers) << level;
    EXPECT_EQ(s.interventions, transfers) << level;
    EXPECT_EQ(s.dirty_interventions, transfers) << level;
    EXPECT_EQ(s.upgrades, 0u) << level;
  }
  const CacheStatistics l3 = total(h, "L3");
  EXPECT_EQ(l3.requests.accesses.writes, 2 * kRounds);
  EXPECT_EQ(l3.requests.misses.writes, 1u);
  EXPECT_EQ(l3.invalidations_sent, transfers);
  EXPECT_EQ(h.statistics().memory.reads, 1u);
  EXPECT_EQ(h.statistics().memory.writes, 0u);
}

TEST(ClosedForm, TwoWritersWithoutASharedCacheGoThroughMemory) {
  constexpr uint64_t kRounds = 1000;
  MachineConfig m = small_machine(2);
  m.levels.pop_back();
  Hierarchy h(m);
  for (uint64_t i = 0; i < kRounds; ++i)
    for (const uint32_t core : {0u, 1u}) h.access_line(core, Access::kReadModifyWrite, 7);
  EXPECT_EQ(total(h, "L2").dirty_interventions, 2 * kRounds - 1);
  EXPECT_EQ(h.statistics().memory.reads, 1u);
  EXPECT_EQ(h.statistics().memory.writes, 2 * kRounds - 1);
  EXPECT_EQ(h.statistics().memory.invalidations_sent, 2 * kRounds - 1);
}

TEST(ClosedForm, OneWriterOneReader) {
  constexpr uint64_t kRounds = 1000;
  Hierarchy h(small_machine(2));
  for (uint64_t i = 0; i < kRounds; ++i) {
    h.access_line(0, Access::kStore, 9);
    h.access_line(1, Access::kLoad, 9);
  }
  const CacheStatistics l1 = total(h, "L1D");
  EXPECT_EQ(l1.requests.misses.writes, 1u);      // then the writer always has it Shared:
  EXPECT_EQ(l1.upgrades, kRounds - 1);           // an upgrade is not a miss
  EXPECT_EQ(l1.requests.misses.reads, kRounds);  // the reader loses it each time
  EXPECT_EQ(l1.invalidations_received, kRounds - 1);
  EXPECT_EQ(l1.downgrades, kRounds);
  EXPECT_EQ(l1.dirty_interventions, kRounds);
  EXPECT_EQ(total(h, "L2").upgrades, kRounds - 1);
  EXPECT_EQ(total(h, "L3").upgrades, 0u);
  EXPECT_EQ(h.statistics().memory.reads, 1u);
}

TEST(ClosedForm, ReadersDoNotDisturbEachOther) {
  Hierarchy h(small_machine(8));
  for (int i = 0; i < 1000; ++i)
    for (uint32_t core = 0; core < 8; ++core) h.access_line(core, Access::kLoad, 9);
  const CacheStatistics l1 = total(h, "L1D");
  EXPECT_EQ(l1.requests.misses.reads, 8u);
  EXPECT_EQ(l1.invalidations_received, 0u);
  EXPECT_EQ(l1.downgrades, 1u);  // the first reader had it Exclusive
  EXPECT_EQ(l1.dirty_interventions, 0u);
}

TEST(ClosedForm, StoreToCodeReachesTheInstructionCache) {
  Hierarchy h(small_machine(1));
  for (int i = 0; i < 100; ++i) {
    h.access_line(0, Access::kFetch, 3);
    h.access_line(0, Access::kStore, 3);
  }
  EXPECT_EQ(total(h, "L1I").requests.misses.fetches, 100u);
  EXPECT_EQ(total(h, "L1I").invalidations_received, 100u);
  EXPECT_EQ(total(h, "L1D").upgrades, 99u);  // downgraded by each fetch, but not lost
  EXPECT_EQ(total(h, "L1D").requests.misses.writes, 1u);
}

TEST(ClosedForm, LineCrossingIsOneReferenceAndTwoAccesses) {
  Hierarchy h(small_machine(1));
  h.access(0, Access::kLoad, 60, 8);
  h.access(0, Access::kStore, 64, 64);
  h.access(0, Access::kStore, 65, 64 * 3);
  h.access(0, Access::kLoad, 128, 0);
  h.access(0, Access::kLoad, ~uint64_t{0} - 3, 100);
  const CoreStatistics core = h.statistics().cores[0];
  EXPECT_EQ(core.loads, 3u);
  EXPECT_EQ(core.stores, 2u);
  EXPECT_EQ(core.line_crossings, 1u + 3u);
  EXPECT_EQ(total(h, "L1D").requests.accesses.reads, 2u + 1 + 1);
  EXPECT_EQ(total(h, "L1D").requests.accesses.writes, 1u + 4);
}

TEST(ClosedForm, FlushWritesBackAndEmpties) {
  Hierarchy h(small_machine(2));
  h.access_line(0, Access::kStore, 5);
  h.access_line(1, Access::kFlush, 5);
  h.access_line(1, Access::kFlush, 5);  // nothing left
  EXPECT_EQ(h.statistics().memory.writes, 1u);
  for (const char* level : {"L1D", "L2", "L3"}) EXPECT_EQ(total(h, level).flushed_lines, 1u) << level;
  EXPECT_EQ(h.statistics().cores[1].flushes, 2u);
  h.access_line(0, Access::kStore, 5);
  EXPECT_EQ(h.statistics().memory.reads, 2u);
}

TEST(ClosedForm, PrefetchTurnsAMissIntoAHit) {
  Hierarchy h(small_machine(1));
  h.access_line(0, Access::kPrefetch, 5);
  h.access_line(0, Access::kLoad, 5);
  EXPECT_EQ(total(h, "L1D").requests.misses.prefetches, 1u);
  EXPECT_EQ(total(h, "L1D").requests.misses.demand(), 0u);
  EXPECT_EQ(total(h, "L1D").requests.accesses.demand(), 1u);
}

TEST(ClosedForm, AddressSpacesDoNotMeet) {
  Hierarchy h(small_machine(2));
  for (int i = 0; i < 100; ++i)
    for (const uint64_t space : {0u, 1u}) h.access_line(static_cast<uint32_t>(space), Access::kStore, space << 58 | 5);
  EXPECT_EQ(total(h, "L1D").requests.misses.writes, 2u);
  EXPECT_EQ(total(h, "L1D").invalidations_received, 0u);
}

}  // namespace
}  // namespace simrun::sim
