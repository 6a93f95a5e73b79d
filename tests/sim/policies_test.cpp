// Policies and protocols on streams whose counts can be said beforehand.
#include <gtest/gtest.h>

#include "sim/replacement/replacement.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

constexpr uint64_t kLineBytes = 64;

void scan(Hierarchy& h, uint64_t lines, int passes) {
  for (int pass = 0; pass < passes; ++pass)
    for (uint64_t line = 0; line < lines; ++line) h.access_line(0, Access::kLoad, line);
}

MachineConfig two_levels(Inclusion inclusion) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 4 * kLineBytes, 4), unified_level("L2", 1, 8 * kLineBytes, 8)};
  m.levels[1].inclusion = inclusion;
  return m;
}

TEST(Inclusion, AnExclusiveLevelAddsItsCapacity) {
  Hierarchy exclusive(two_levels(Inclusion::kExclusive)), inclusive(two_levels(Inclusion::kInclusive));
  scan(exclusive, 12, 10);
  scan(inclusive, 12, 10);
  EXPECT_EQ(exclusive.statistics().memory.reads, 12u);
  EXPECT_EQ(total(exclusive, "L2").victims_in, 120u - 4);
  EXPECT_EQ(inclusive.statistics().memory.reads, 120u);
}

// The case of InclusionVictim in closed_form_test.cpp.
TEST(Inclusion, ANonInclusiveLevelTakesNothingAway) {
  Hierarchy h(two_levels(Inclusion::kNonInclusive));
  for (uint64_t i = 0; i < 100; ++i) {
    h.access_line(0, Access::kLoad, 1000);
    h.access_line(0, Access::kLoad, i);
  }
  EXPECT_EQ(total(h, "L1").back_invalidations, 0u);
  EXPECT_EQ(total(h, "L1").requests.misses.reads, 101u);
}

TEST(Writes, WriteThroughPassesEachOn) {
  for (const WriteMiss miss : {WriteMiss::kAllocate, WriteMiss::kNoAllocate}) {
    MachineConfig m = two_levels(Inclusion::kInclusive);
    m.levels[0].write_policy = WritePolicy::kWriteThrough;
    m.levels[0].write_miss = miss;
    Hierarchy h(m);
    for (int i = 0; i < 100; ++i) h.access_line(0, Access::kStore, 5);
    EXPECT_EQ(total(h, "L2").requests.accesses.writes, 100u);
    EXPECT_EQ(total(h, "L1").writes_passed_on, 100u);
    EXPECT_EQ(total(h, "L1").requests.misses.writes, miss == WriteMiss::kAllocate ? 1u : 100u);
    EXPECT_EQ(h.statistics().memory.writes, 0u);
    EXPECT_EQ(h.statistics().memory.reads, 1u);
  }
}

MachineConfig private_caches(uint32_t cores, Coherence coherence) {
  MachineConfig m = small_machine(cores);
  m.levels = {unified_level("L1", 1, 4 << 10, 4)};
  m.coherence = coherence;
  return m;
}

TEST(Protocols, OwnedKeepsModifiedDataFromMemory) {
  for (const Coherence coherence : {Coherence::kMesi, Coherence::kMoesi}) {
    Hierarchy h(private_caches(4, coherence));
    for (int round = 0; round < 100; ++round) {
      h.access_line(0, Access::kStore, 7);
      for (uint32_t core = 1; core < 4; ++core) h.access_line(core, Access::kLoad, 7);
    }
    const bool moesi = coherence == Coherence::kMoesi;
    EXPECT_EQ(h.statistics().memory.writes, moesi ? 0u : 100u);
    EXPECT_EQ(h.statistics().memory.reads, moesi ? 1u : 1u + 200);  // MESI: the second and third reader of each round
    EXPECT_EQ(total(h, "L1").dirty_interventions, moesi ? 300u : 100u);
  }
}

TEST(Protocols, AnUpgradeTakesNoDataFromTheOwner) {
  Hierarchy h(private_caches(2, Coherence::kMoesi));
  constexpr uint64_t kRounds = 100;
  for (uint64_t round = 0; round < kRounds; ++round) {
    h.access_line(0, Access::kStore, 7);  // from the other, but for the first time
    h.access_line(1, Access::kLoad, 7);
    h.access_line(1, Access::kStore, 7);  // has it already
  }
  uint64_t transfers = 0;
  for (const auto& t : h.statistics().transfers) transfers += t.lines;
  EXPECT_EQ(transfers, 2 * kRounds - 1);
  EXPECT_EQ(total(h, "L1").dirty_interventions, transfers);
  EXPECT_EQ(total(h, "L1").interventions, 3 * kRounds - 1);
}

TEST(Protocols, ForwardReadsMemoryOnce) {
  for (const Coherence coherence : {Coherence::kMesi, Coherence::kMesif}) {
    Hierarchy h(private_caches(8, coherence));
    for (uint32_t core = 0; core < 8; ++core) h.access_line(core, Access::kLoad, 7);
    EXPECT_EQ(h.statistics().memory.reads, coherence == Coherence::kMesif ? 1u : 8u);
    EXPECT_EQ(total(h, "L1").clean_supplies, coherence == Coherence::kMesif ? 6u : 0u);
    uint64_t handed = 0;   // what memory did not give a cache did: of the first reader, who had it Exclusive, too
    for (const Transfer& t : h.statistics().transfers) handed += t.lines;
    EXPECT_EQ(handed, 8 - h.statistics().memory.reads);
  }
}

TEST(Protocols, MsiPaysAnUpgradeForThePrivateLine) {
  for (const Coherence coherence : {Coherence::kMesi, Coherence::kMsi}) {
    Hierarchy h(private_caches(2, coherence));
    for (uint64_t line = 0; line < 20; ++line) {
      h.access_line(0, Access::kLoad, line);
      h.access_line(0, Access::kStore, line);
    }
    EXPECT_EQ(total(h, "L1").upgrades, coherence == Coherence::kMsi ? 20u : 0u);
  }
}

TEST(Protocols, NoneLeavesEveryCacheAlone) {
  Hierarchy h(private_caches(4, Coherence::kNone));
  for (int round = 0; round < 100; ++round)
    for (uint32_t core = 0; core < 4; ++core) h.access_line(core, Access::kStore, 7);
  EXPECT_EQ(total(h, "L1").requests.misses.writes, 4u);
  EXPECT_EQ(total(h, "L1").invalidations_received, 0u);
}

TEST(Requests, SnoopingAsksEverybody) {
  MachineConfig m = private_caches(8, Coherence::kMesi);
  m.requests = Requests::kSnooping;
  Hierarchy h(m);
  for (uint64_t line = 0; line < 10; ++line) h.access_line(0, Access::kLoad, line);
  EXPECT_EQ(h.statistics().memory.snoops_sent, 10u * 7);
  EXPECT_EQ(h.statistics().memory.invalidations_sent, 0u);
}

uint64_t misses_of_cycle(Replacement replacement, uint64_t lines, int passes) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 8 * kLineBytes, 8)};
  m.levels[0].replacement = replacement;
  Hierarchy h(m);
  scan(h, lines, passes);
  return total(h, "L1").requests.misses.reads;
}

// Nine lines in turn through eight ways: the orders by recency or age lose always, an insertion at the far end keeps
// seven lines and loses the two that share the last way.
TEST(Replacement, CyclicScanOfOneLineTooMany) {
  EXPECT_EQ(misses_of_cycle(Replacement::kLru, 9, 10), 90u);
  EXPECT_EQ(misses_of_cycle(Replacement::kFifo, 9, 10), 90u);
  EXPECT_EQ(misses_of_cycle(Replacement::kLip, 9, 10), 9u + 9 * 2);
  for (int policy = 0; policy < 13; ++policy)
    EXPECT_EQ(misses_of_cycle(static_cast<Replacement>(policy), 8, 10), 8u) << policy << ": what fits stays";
}

TEST(Replacement, TreeOfFourWays) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 4 * kLineBytes, 4)};
  m.levels[0].replacement = Replacement::kTreePlru;
  Hierarchy h(m);
  for (const uint64_t line : {0, 1, 2, 3, 0, 4}) h.access_line(0, Access::kLoad, line);  // after 0: right half, way 2
  h.access_line(0, Access::kLoad, 2);
  EXPECT_EQ(total(h, "L1").requests.misses.reads, 6u);
  h.access_line(0, Access::kLoad, 0);
  h.access_line(0, Access::kLoad, 4);
  EXPECT_EQ(total(h, "L1").requests.misses.reads, 6u);
}

}  // namespace
}  // namespace simrun::sim
