// Tables per line, instruction and thread; misses by class; true and false sharing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/stats/timing.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

constexpr uint64_t kMostUsed = 0x10000;  // byte address of the line that most tests use

struct Detailed {
  explicit Detailed(const MachineConfig& machine) : model(machine) { model.keep_details(); }
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes = 8, uint64_t pc = 0) {
    model.access_detailed(core, kind, address, bytes, {core, 0, pc != 0 ? pc : 0x400000 + core});
  }
  const LineRecord& line(uint64_t address) const {
    return *model.details()->lines().find(address / model.line_bytes());
  }
  MissClasses level1() const {
    MissClasses sum;
    for (uint32_t cache = 0; cache < 2 * model.cores(); ++cache) sum += model.details()->classes(cache);
    return sum;
  }
  Hierarchy model;
};

TEST(Sharing, CountersInOneLineAreFalselyShared) {
  Detailed d(small_machine(4));
  for (int round = 0; round < 100; ++round)
    for (uint32_t core = 0; core < 4; ++core) d.access(core, Access::kReadModifyWrite, kMostUsed + 8 * core);
  const LineRecord& line = d.line(kMostUsed);
  EXPECT_EQ(line.sharing.false_sharing, 4u * 99);  // each first miss is compulsory
  EXPECT_EQ(line.sharing.true_sharing, 0u);
  EXPECT_EQ(line.sharing.dirty_transfers, 399u);
  ASSERT_EQ(line.threads.size(), 4u);
  EXPECT_EQ(line.threads[2].written_bytes, ByteMask::of(16, 8, 64));
  EXPECT_EQ(line.threads[2].sharing.false_sharing, 99u);
  EXPECT_EQ(line.threads[2].writes, 100u);
  ASSERT_EQ(line.sites.size(), 4u);
  EXPECT_EQ(line.sites[2].offset, 24u);  // thread 0 has one from its second reference on
  EXPECT_EQ(line.sites[2].origin.pc, 0x400003u);
  EXPECT_EQ(line.sites[2].sharing.false_sharing, 99u);
  EXPECT_EQ(d.model.details()->pcs().at({0, 0x400001}).sharing.false_sharing, 99u);
  EXPECT_EQ(d.model.details()->threads()[1].misses[0], 100u);
  EXPECT_EQ(d.model.details()->lines().worst(10).size(), 1u);
}

// Of processes that have ended, as hundreds of children of a shell, only instructions that missed are kept when there are many.
TEST(Details, InstructionsOfProcessesThatHaveEnded) {
  Hierarchy model(small_machine(1));
  model.keep_details();
  constexpr uint32_t kAllKept = Details::kMostInstructionsKept / 100, kProcesses = kAllKept + 50;
  for (uint32_t process = 0; process < kProcesses; ++process) {
    for (uint64_t pc = 0; pc < 100; ++pc)
      model.access_detailed(0, Access::kLoad, kMostUsed + 64 * ((process * 100 + pc) / 50), 8, {process, process, 0x400000 + pc});
    if (process != 0) model.forget_process(process);
  }
  const PcTable& pcs = model.details()->pcs();
  EXPECT_LE(pcs.size(), Details::kMostInstructionsKept + 100);
  EXPECT_TRUE(pcs.contains({1, 0x400001}));
  EXPECT_FALSE(pcs.contains({kProcesses - 2, 0x400001}));
  uint64_t misses = 0;
  for (const auto& [key, counts] : pcs) misses += counts.misses[0];
  EXPECT_EQ(misses, model.statistics().levels[1].total.requests.misses.demand());
  // It may come again all the same.
  model.access_detailed(0, Access::kLoad, kMostUsed, 8, {3, kProcesses - 2, 0x400001});
  EXPECT_EQ(pcs.at({kProcesses - 2, 0x400001}).reads, 1u);
}

// So are those of instruction fetches; neither makes a use.
TEST(Sharing, MissesOfPrefetchesAreOfTheirInstruction) {
  Detailed d(small_machine(2));
  for (int round = 0; round < 100; ++round) {
    d.access(0, Access::kPrefetch, kMostUsed, 8, 0x400100);
    d.access(0, Access::kFetch, kMostUsed + 32, 4, 0x400200);
    d.access(1, Access::kStore, kMostUsed + 8);
    EXPECT_EQ(d.line(kMostUsed).threads.size(), round == 0 ? 1u : 2u);
    d.access(0, Access::kLoad, kMostUsed);
  }
  const LineRecord& line = d.line(kMostUsed);
  SharingCounts rows;
  for (const Site& site : line.sites) {
    rows += site.sharing;
    const bool prefetches = site.kind == Access::kPrefetch;
    EXPECT_EQ(site.origin.pc == 0x400100, prefetches);
  }
  EXPECT_EQ(rows, line.sharing);
  EXPECT_EQ(line.threads.size(), 2u);

  // One that does nothing else with the line.
  constexpr uint64_t kOther = kMostUsed + 64;
  for (int round = 0; round < 100; ++round) {
    d.access(1, Access::kStore, kOther);
    d.access(0, Access::kPrefetch, kOther, 8, 0x400100);
  }
  ASSERT_EQ(d.line(kOther).sites.size(), 2u);
  EXPECT_EQ(d.line(kOther).sites[0].sharing.coherence_misses(), 99u);
  EXPECT_EQ(d.line(kOther).sites[1].sharing.upgrades, 99u);
}

TEST(Sharing, PaddedCountersAreNot) {
  Detailed d(small_machine(4));
  for (int round = 0; round < 100; ++round)
    for (uint32_t core = 0; core < 4; ++core) d.access(core, Access::kReadModifyWrite, kMostUsed + 64 * core);
  EXPECT_EQ(d.level1().false_sharing + d.level1().true_sharing, 0u);
  EXPECT_TRUE(d.model.details()->lines().worst(10).empty());
  EXPECT_TRUE(d.model.details()->lines().shared().empty());
}

TEST(Sharing, OneCounterOfAllIsTrulyShared) {
  for (const Access kind : {Access::kReadModifyWrite, Access::kStore}) {
    Detailed d(small_machine(4));
    for (int round = 0; round < 100; ++round)
      for (uint32_t core = 0; core < 4; ++core) d.access(core, kind, kMostUsed);
    EXPECT_EQ(d.line(kMostUsed).sharing.true_sharing, 4u * 99);
    EXPECT_EQ(d.line(kMostUsed).sharing.false_sharing, 0u);
  }
}

TEST(Sharing, ATouchAnyTimeBeforeTheNextLossMakesTheMissTrue) {
  Detailed d(small_machine(2));
  d.access(0, Access::kLoad, kMostUsed, 8, 0x111);
  d.access(1, Access::kStore, kMostUsed + 8);
  d.access(0, Access::kLoad, kMostUsed, 8, 0x222);  // a byte that nobody wrote
  EXPECT_EQ(d.line(kMostUsed).sharing.false_sharing, 1u);
  d.access(0, Access::kLoad, kMostUsed, 8, 0x333);
  d.access(0, Access::kLoad, kMostUsed + 15, 1, 0x444);  // what core 1 wrote
  EXPECT_EQ(d.line(kMostUsed).sharing.false_sharing, 0u);
  EXPECT_EQ(d.line(kMostUsed).sharing.true_sharing, 1u);
  EXPECT_EQ(d.model.details()->pcs().at({0, 0x222}).sharing.true_sharing, 1u) << "the instruction that missed";
}

// Dubois: what was written before a useless miss is still news at the next one.
TEST(Sharing, AnOldWriteStaysNewsUntilItIsSeen) {
  Detailed d(small_machine(2));
  d.access(0, Access::kLoad, kMostUsed);
  d.access(1, Access::kStore, kMostUsed + 8);
  d.access(0, Access::kLoad, kMostUsed);        // false
  d.access(1, Access::kStore, kMostUsed + 16);  // another byte
  d.access(0, Access::kLoad, kMostUsed + 8);    // what came before the false miss: true
  EXPECT_EQ(d.line(kMostUsed).sharing.false_sharing, 1u);
  EXPECT_EQ(d.line(kMostUsed).sharing.true_sharing, 1u);
  d.access(1, Access::kStore, kMostUsed + 16);
  d.access(0, Access::kLoad, kMostUsed + 8);  // seen already
  EXPECT_EQ(d.line(kMostUsed).sharing.false_sharing, 2u);
}

TEST(MissClasses, EachKind) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 16 * 64, 1)};  // 16 lines, direct-mapped
  Detailed d(m);
  for (int pass = 0; pass < 10; ++pass)
    for (const uint64_t line : {0u, 16u}) d.access(0, Access::kLoad, line * 64);
  MissClasses c = d.model.details()->classes(0);
  EXPECT_EQ(c.compulsory, 2u);
  EXPECT_EQ(c.conflict, 18u);
  for (int pass = 0; pass < 10; ++pass)
    for (uint64_t line = 0; line < 32; ++line) d.access(0, Access::kLoad, 64 * (1000 + line));
  c = d.model.details()->classes(0);
  EXPECT_EQ(c.compulsory, 34u);
  EXPECT_EQ(c.capacity, 9u * 32);
  d.access(0, Access::kLoad, 64 * 1031);
  d.access(0, Access::kFlush, 64 * 1031);
  d.access(0, Access::kLoad, 64 * 1031);
  EXPECT_EQ(d.model.details()->classes(0).flushed, 1u);
}

TEST(MissClasses, InclusionVictim) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 4 * 64, 4), unified_level("L2", 1, 8 * 64, 8)};
  Detailed d(m);
  for (uint64_t i = 0; i < 8; ++i) {
    d.access(0, Access::kLoad, 64 * 1000);
    d.access(0, Access::kLoad, 64 * i);
  }
  d.access(0, Access::kLoad, 64 * 1000);
  EXPECT_EQ(d.model.details()->classes(0).inclusion, 1u);
}

// Two complexes of two cores with private level-2 caches, each complex with a level 3 that does not include them.
MachineConfig two_complexes(Inclusion inclusion) {
  MachineConfig m = small_machine(4);
  m.levels[2].cores_per_cache = 2;
  m.levels[2].inclusion = inclusion;
  return m;
}

// Sums over the caches of level 3.
MissClasses level3(const Detailed& d) { return d.model.statistics().levels[3].details->classes; }

TEST(MissClasses, WhatALevelThatDoesNotIncludeOthersMisses) {
  constexpr int kRounds = 50;
  Detailed within(two_complexes(Inclusion::kExclusive));
  for (int round = 0; round < kRounds; ++round)
    for (const uint32_t core : {0u, 1u}) within.access(core, Access::kStore, kMostUsed);
  MissClasses expected;
  expected.compulsory = 1, expected.supplied_by_children = 2 * kRounds - 1;
  EXPECT_TRUE(level3(within) == expected) << "the line is in the other core's level 2 all the time";

  for (const Inclusion inclusion : {Inclusion::kExclusive, Inclusion::kNonInclusive}) {
    Detailed across(two_complexes(inclusion));
    for (int round = 0; round < kRounds; ++round)
      for (const uint32_t core : {0u, 2u}) across.access(core, Access::kStore, kMostUsed);
    expected = {};
    expected.compulsory = 2, expected.true_sharing = 2 * (kRounds - 1);
    EXPECT_TRUE(level3(across) == expected) << "the other complex writes the same bytes";

    Detailed padded_too_little(two_complexes(inclusion));
    for (int round = 0; round < kRounds; ++round)
      for (const uint32_t core : {0u, 2u}) padded_too_little.access(core, Access::kStore, kMostUsed + 8 * core);
    expected = {};
    expected.compulsory = 2, expected.false_sharing = 2 * (kRounds - 1);
    EXPECT_TRUE(level3(padded_too_little) == expected);

    Detailed flushed(two_complexes(inclusion));
    for (int round = 0; round < kRounds; ++round)
      flushed.access(0, Access::kLoad, kMostUsed), flushed.access(1, Access::kFlush, kMostUsed);
    expected = {};
    expected.compulsory = 1, expected.flushed = kRounds - 1;
    EXPECT_TRUE(level3(flushed) == expected);
  }
}

TEST(MissClasses, AMissThatBringsNothingIsNoLoss) {
  MachineConfig m = small_machine(1);
  m.levels[0].write_miss = WriteMiss::kNoAllocate;
  Detailed d(m);
  for (int i = 0; i < 3; ++i) d.access(0, Access::kStore, kMostUsed);
  d.access(0, Access::kLoad, kMostUsed);
  EXPECT_EQ(d.model.details()->classes(1).compulsory, 4u) << "level 1 never had the line";
  EXPECT_EQ(d.model.details()->classes(2).compulsory, 1u);
}

TEST(Lifetimes, OfLinesThatLeft) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 64, 1)};
  Detailed d(m);
  d.access(0, Access::kLoad, 0);
  for (int i = 0; i < 5; ++i) d.access(0, Access::kLoad, 0);
  d.access(0, Access::kLoad, 64);
  d.access(0, Access::kLoad, 128);
  const LifetimeStatistics& l = d.model.details()->lifetimes(0);
  EXPECT_EQ(l.lines, 2u);
  EXPECT_EQ(l.unused, 1u);
  EXPECT_EQ(l.hits, 5u);
  EXPECT_EQ(l.references, 6u + 1);
}

// Against a list that is searched from the front: distances, and with them capacity and conflict misses.
TEST(Reuse, DistancesAndReplacementMissesAsAListHasThem) {
  MachineConfig m = small_machine(1);
  m.levels = {unified_level("L1", 1, 16 * 64, 2)};
  Detailed d(m);
  std::mt19937_64 random(5);
  std::vector<uint64_t> list;  // the most recent first
  ReuseStatistics expected;
  uint64_t lost_within_size = 0, lost_beyond = 0;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t line = random() % (random() % 4 == 0 ? 100 : 12);
    const uint64_t misses_before = d.model.statistics().levels[0].total.requests.misses.reads;
    d.access(0, Access::kLoad, line * 64);
    const bool missed = d.model.statistics().levels[0].total.requests.misses.reads != misses_before;
    const auto at = std::find(list.begin(), list.end(), line);
    if (at == list.end()) {
      ++expected.first;
    } else {
      const auto distance = static_cast<uint64_t>(at - list.begin());
      expected.by_distance.add(distance);
      if (missed) ++(distance < 16 ? lost_within_size : lost_beyond);
      list.erase(at);
    }
    list.insert(list.begin(), line);
  }
  const Statistics statistics = d.model.statistics();
  const CacheDetails& c = *statistics.levels[0].details;
  EXPECT_TRUE(c.reuse == expected);
  EXPECT_EQ(c.classes.conflict, lost_within_size);
  EXPECT_EQ(c.classes.capacity, lost_beyond);
  EXPECT_GT(lost_within_size, 100u);
  EXPECT_GT(lost_beyond, 100u);
}

TEST(Reuse, ALineThatAnotherCoreTookAwayHasNoDistance) {
  Detailed d(small_machine(2));
  d.access(0, Access::kLoad, kMostUsed);
  d.access(1, Access::kStore, kMostUsed);
  d.access(0, Access::kLoad, kMostUsed);
  for (const CacheInstanceStatistics& c : d.model.statistics().levels[1].caches) {
    if (c.first_core != 0) continue;
    EXPECT_EQ(c.details->reuse.first, 1u);
    EXPECT_EQ(c.details->reuse.taken_away, 1u);
    EXPECT_EQ(c.details->reuse.by_distance.total(), 0u);
  }
}

// What an exclusive cache is asked for leaves it with that hit.
TEST(Lifetimes, OfAnExclusiveCache) {
  Detailed d(two_complexes(Inclusion::kExclusive));
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) d.access(0, Access::kLoad, random() % 3000 * 64);
  const Statistics statistics = d.model.statistics();
  const LevelStatistics& exclusive = statistics.levels.back();
  const auto& requests = exclusive.total.requests;
  const LifetimeStatistics& lifetimes = exclusive.details->lifetimes;
  const uint64_t hits = requests.accesses.demand() - requests.misses.demand();
  EXPECT_GT(hits, 1000u);
  EXPECT_EQ(lifetimes.hits, hits);
  EXPECT_EQ(lifetimes.lines - lifetimes.unused, hits);
  EXPECT_EQ(lifetimes.by_hits[1], hits);
}

TEST(Lines, MissesByLevel) {
  Detailed d(small_machine(2));
  for (int i = 0; i < 3; ++i) {
    d.access(0, Access::kStore, kMostUsed);
    d.access(1, Access::kStore, kMostUsed);
  }
  const LineRecord& line = d.line(kMostUsed);
  EXPECT_EQ(line.misses[0], 6u);
  EXPECT_EQ(line.misses.back(), 0u);
}

// Costs by instruction, line and thread, and what observers are told, add up to the cores' estimates and counts.
TEST(Details, CostsAddUp) {
  struct Told final : SiteObserver {
    void new_site(const LineRecord&, uint32_t) override {}
    void missed(const Miss& m) override {
      for (size_t level = 0; level < kMaxLevels; ++level) misses[level] += m.misses[level];
      coherence_misses += m.is_coherence_miss, upgrades += m.is_upgrade;
      latency += m.latency;
    }
    std::array<uint64_t, kMaxLevels> misses{};
    uint64_t coherence_misses = 0, upgrades = 0;
    LatencyCycles latency;
  };
  double all = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed * 37);
    MachineConfig machine = random_machine_with_everything(random);
    machine.addresses = Addresses::kVirtual;
    machine.transfer_latency = 7;
    machine.core = {1, 0.75, 0.5, 0.25};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(machine));
    Detailed d(machine);
    Told told;
    d.model.tell_of_sites(&told);
    for (const Reference& r : random_stream(random, machine, 1500)) d.access(r.core, r.kind, r.address, r.bytes, 0x400000 + r.address % 7);
    double expected = 0;
    for (const CoreStatistics& core : d.model.statistics().cores) {
      const CoreTiming t = timing_of(machine, core, 0);
      expected += std::accumulate(t.stall_cycles.begin(), t.stall_cycles.end(), t.transfer_cycles + t.upgrade_cycles);
    }
    OriginCounts of_pcs, of_threads;
    for (const auto& [key, counts] : d.model.details()->pcs()) of_pcs += counts;
    for (const OriginCounts& counts : d.model.details()->threads()) of_threads += counts;
    LatencyCycles of_lines;
    for (const auto& [number, line] : d.model.details()->lines().all()) of_lines += line.latency;
    EXPECT_DOUBLE_EQ(of_pcs.latency.stalls(machine.core), expected);
    EXPECT_EQ(of_threads, of_pcs);
    EXPECT_EQ(of_lines, of_pcs.latency);
    EXPECT_EQ(told.latency, of_pcs.latency);
    EXPECT_EQ(told.misses, of_pcs.misses);
    EXPECT_EQ(told.coherence_misses, of_pcs.sharing.coherence_misses());
    EXPECT_EQ(told.upgrades, of_pcs.sharing.upgrades);
    all += expected;
    if (HasFailure()) return;
  }
  EXPECT_GT(all, 1000);
}

// What always holds, and that keeping details changes no count.
TEST(Details, LawsOnRandomMachines) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed * 31);
    const MachineConfig machine = random_machine(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(machine));
    Detailed d(machine);
    Hierarchy plain(machine);
    for (const Reference& r : random_stream(random, machine, 1500)) {
      d.access(r.core, r.kind, r.address, r.bytes);
      plain.access(r.core, r.kind, r.address, r.bytes);
    }
    Statistics s = d.model.statistics();
    for (LevelStatistics& level : s.levels) {
      CacheDetails sum;
      for (CacheInstanceStatistics& c : level.caches) {
        sum += *c.details;
        const ReuseStatistics& reuse = c.details->reuse;
        EXPECT_EQ(reuse.first + reuse.taken_away + reuse.by_distance.total(),
                  c.total.requests.accesses.demand() + c.total.requests.accesses.prefetches)
            << c.name;
        EXPECT_EQ(c.details->lifetimes.by_lifetime.total(), c.details->lifetimes.lines);
        c.details.reset();
      }
      EXPECT_TRUE(*level.details == sum) << level.name;
      level.details.reset();
    }
    EXPECT_TRUE(s == plain.statistics());
    uint32_t cache = 0;
    uint64_t level1_sharing = 0;
    for (const LevelStatistics& level : s.levels)
      for (const CacheInstanceStatistics& c : level.caches) {
        const MissClasses& classes = d.model.details()->classes(cache);
        const AccessCounts& misses = c.total.requests.misses;
        EXPECT_EQ(classes.total(), misses.demand() + misses.prefetches) << c.name;
        if (c.by_core.size() == machine.cores && level.side == Side::kUnified) {
          EXPECT_EQ(classes.true_sharing + classes.false_sharing, 0u);
        }
        if (level.level == 1) level1_sharing += classes.true_sharing + classes.false_sharing;
        const LifetimeStatistics& l = d.model.details()->lifetimes(cache);
        EXPECT_EQ(l.lines, c.total.evictions + c.total.back_invalidations + c.total.flushed_lines +
                               c.total.invalidations_received)
            << c.name;
        ++cache;
      }
    uint64_t by_line = 0, by_thread = 0, by_pc = 0;
    for (const LineRecord* line : d.model.details()->lines().worst(1 << 20))
      by_line += line->sharing.coherence_misses();
    for (const OriginCounts& t : d.model.details()->threads()) by_thread += t.sharing.coherence_misses();
    for (const auto& [pc, counts] : d.model.details()->pcs()) by_pc += counts.sharing.coherence_misses();
    EXPECT_EQ(by_line, level1_sharing);
    EXPECT_EQ(by_thread, level1_sharing);
    EXPECT_EQ(by_pc, level1_sharing);
    if (testing::Test::HasFailure()) return;
  }
}

// Whatever the policies: each miss is in one class; what caches nearer the core answered is known besides; nobody
// writes beside a cache that all cores share.
TEST(MissClasses, LawsOnRandomPolicies) {
  uint64_t by_children = 0, sharing_beyond = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed * 37);
    const MachineConfig machine = random_machine_with_policies(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(machine));
    Detailed d(machine);
    for (const Reference& r : random_stream(random, machine, 1500)) d.access(r.core, r.kind, r.address, r.bytes);
    for (const LevelStatistics& level : d.model.statistics().levels)
      for (const CacheInstanceStatistics& c : level.caches) {
        const MissClasses& classes = c.details->classes;
        const AccessCounts& misses = c.total.requests.misses;
        EXPECT_EQ(classes.total(), misses.demand() + misses.prefetches) << c.name;
        EXPECT_EQ(classes.supplied_by_children, c.total.supplied_by_children) << c.name;
        if ((c.by_core.size() == machine.cores && level.side == Side::kUnified) ||
            machine.coherence == Coherence::kNone) {
          EXPECT_EQ(classes.coherence(), 0u) << c.name;
        } else if (machine.levels[level.level - 1].inclusion == Inclusion::kExclusive) {
          sharing_beyond += classes.coherence();
        }
        by_children += classes.supplied_by_children;
      }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(by_children, 500u);
  EXPECT_GT(sharing_beyond, 500u);
}

// The classification again, from the whole history of each line: private unbounded caches, so that every loss is one of
// coherence. For each coherence miss, looks forward to the next loss for a byte that another core wrote since the
// core's last essential miss.
struct Touch {
  uint32_t core;
  bool write;
  uint32_t offset, bytes;
};

std::pair<uint64_t, uint64_t> classify_by_history(const std::vector<Touch>& history, uint32_t cores) {
  uint64_t true_misses = 0, false_misses = 0;
  for (uint32_t core = 0; core < cores; ++core) {
    size_t essential = 0;  // writes before this point are known to the core
    bool held = false, seen = false;
    for (size_t i = 0; i < history.size(); ++i) {
      if (history[i].core != core) {
        held &= !history[i].write;
        continue;
      }
      if (held) continue;
      held = true;
      if (!seen) {
        seen = true;
        essential = i;
        continue;
      }
      size_t lost = i;
      while (lost < history.size() && (history[lost].core == core || !history[lost].write)) ++lost;
      bool is_true = false;
      for (size_t use = i; use < lost && !is_true; ++use)
        for (size_t w = essential; w < i && history[use].core == core; ++w)
          is_true |= history[w].core != core && history[w].write &&
                     history[w].offset < history[use].offset + history[use].bytes &&
                     history[use].offset < history[w].offset + history[w].bytes;
      ++(is_true ? true_misses : false_misses);
      if (is_true) essential = i;
    }
  }
  return {true_misses, false_misses};
}

TEST(Sharing, EqualsTheDefinitionOnRandomHistories) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    MachineConfig m = small_machine(2 + static_cast<uint32_t>(random() % 3));
    m.levels = {unified_level("L1", 1, 1 << 16, 16)};
    Detailed d(m);
    std::vector<Touch> history;
    for (int i = 0; i < 120; ++i) {
      const uint32_t bytes = 1 + static_cast<uint32_t>(random() % 8);
      history.push_back({static_cast<uint32_t>(random() % m.cores), random() % 3 == 0,
                         static_cast<uint32_t>(random() % (1 + random() % 57)), bytes});
      const Touch& t = history.back();
      d.access(t.core, t.write ? Access::kStore : Access::kLoad, kMostUsed + t.offset, t.bytes);
    }
    const auto [true_misses, false_misses] = classify_by_history(history, m.cores);
    ASSERT_EQ(d.line(kMostUsed).sharing.true_sharing, true_misses) << seed;
    ASSERT_EQ(d.line(kMostUsed).sharing.false_sharing, false_misses) << seed;
  }
}

TEST(ByteMask, OfRanges) {
  EXPECT_EQ(ByteMask::of(0, 8, 64).words[0], 0xffu);
  EXPECT_EQ(ByteMask::of(0, 64, 64).words[0], ~uint64_t{0});
  EXPECT_EQ(ByteMask::of(60, 8, 128).words[0], uint64_t{0xf} << 60);
  EXPECT_EQ(ByteMask::of(60, 8, 128).words[1], 0xfu);
  EXPECT_EQ(ByteMask::of(127, 1, 128).words[1], uint64_t{1} << 63);
  EXPECT_EQ(ByteMask::of(4095, 1, 4096).words[1], uint64_t{1} << 63);
  EXPECT_EQ(ByteMask::of(5, 0, 64).count(), 1u);
}

}  // namespace
}  // namespace simrun::sim
