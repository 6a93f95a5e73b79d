// Prefetchers, TLBs and pages on streams whose outcome is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/user_error.h"
#include "sim/hierarchy.h"
#include "sim/prefetch/stream.h"
#include "sim/state_archive.h"
#include "sim/tlb/tlb.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

MachineConfig machine_with(PrefetchConfig prefetch) {
  MachineConfig m = small_machine(1);
  m.levels[0].data.prefetch = {prefetch};
  m.levels[1].unified.latency = 14, m.levels[2].unified.latency = 40, m.memory_latency = 200;
  return m;
}

const CacheStatistics& level1_data(const Statistics& s) { return s.levels[1].total; }

TEST(Prefetch, NextLineOfAScanMissesOncePerPage) {
  Hierarchy h(machine_with({PrefetchKind::kNextLine, 1, 1}));
  const uint64_t pages = 100, lines = 64 * pages;
  for (uint64_t line = 0; line < lines; ++line) h.access_line(0, Access::kLoad, line);
  const Statistics s = h.statistics();
  EXPECT_EQ(level1_data(s).requests.misses.reads, pages);
  EXPECT_EQ(level1_data(s).prefetches_issued, lines - pages);
  EXPECT_EQ(level1_data(s).prefetches_useful, lines - pages);
  EXPECT_EQ(level1_data(s).prefetches_late, lines - pages);  // used by the very next access
  EXPECT_EQ(level1_data(s).prefetches_unused, 0u);
  EXPECT_EQ(s.levels[2].total.requests.accesses.prefetches, lines - pages);
  std::string why;
  EXPECT_TRUE(h.check_invariants(&why)) << why;
}

TEST(Prefetch, FarAheadIsNotLate) {
  MachineConfig m = machine_with({PrefetchKind::kNextLine, 1, 4});
  m.memory_latency = 3;
  m.levels[1].unified.latency = m.levels[2].unified.latency = 2;
  Hierarchy h(m);
  for (uint64_t line = 0; line < 64; ++line) h.access_line(0, Access::kLoad, line);
  EXPECT_EQ(level1_data(h.statistics()).requests.misses.reads, 4u);
  EXPECT_EQ(level1_data(h.statistics()).prefetches_late, 0u);
}

TEST(Prefetch, StridesAreLearntByInstruction) {
  for (const bool tells_pc : {true, false}) {
    Hierarchy h(machine_with({PrefetchKind::kStride, 1, 1}));
    EXPECT_TRUE(h.wants_pc());
    for (uint64_t i = 0; i < 20; ++i) {  // two instructions in turn, with strides of 3 and 2 lines
      h.set_pc(tells_pc ? 0x1000 : 0);
      h.access_line(0, Access::kLoad, 3 * i);
      h.set_pc(tells_pc ? 0x1001 : 0);
      h.access_line(0, Access::kLoad, 1'000'000 + 2 * i);
    }
    const uint64_t misses = level1_data(h.statistics()).requests.misses.reads;
    EXPECT_EQ(misses, tells_pc ? 6u : 40u);  // three of each until it is sure
  }
}

TEST(Prefetch, StreamsGoBothWaysAndStayInThePage) {
  Hierarchy h(machine_with({PrefetchKind::kStream, 2, 1}));
  for (uint64_t i = 0; i < 64; ++i) {
    h.access_line(0, Access::kLoad, 6400 + i);
    h.access_line(0, Access::kLoad, 12863 - i);
  }
  const Statistics s = h.statistics();
  EXPECT_EQ(level1_data(s).requests.misses.reads, 2u * 3);
  EXPECT_EQ(level1_data(s).prefetches_issued, 2u * 61);
}

// As sim/prefetch/stream.h says it, one stream after the other.
struct SlowStreams {
  struct Entry {
    uint64_t line;
    int64_t direction;
  };
  std::vector<Entry> entries;   // in the order in which they began, but for those that made room
  std::vector<size_t> order;    // the one used longest ago first
  std::vector<uint64_t> observe(uint64_t line) {
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto step = static_cast<int64_t>(line - entries[i].line);
      if (step == 0 || step < -4 || step > 4) continue;
      const int64_t direction = step < 0 ? -1 : 1;
      const bool sure = entries[i].direction == direction;
      entries[i] = {line, direction};
      std::erase(order, i), order.push_back(i);
      if (!sure) return {};
      return {line + static_cast<uint64_t>(2 * direction), line + static_cast<uint64_t>(3 * direction)};
    }
    size_t place = entries.size();
    if (place < 16)
      entries.push_back({});
    else
      place = order.front(), order.erase(order.begin());
    entries[place] = {line, 0};
    order.push_back(place);
    return {};
  }
};

TEST(Prefetch, StreamsEqualAList) {
  std::mt19937_64 random(5);
  prefetch::Stream streams({PrefetchKind::kStream, 2, 2});
  SlowStreams slow;
  uint64_t wanted_lines = 0;
  std::vector<uint64_t> heads;   // lines near each other, at both ends of the addresses, and with equal lower halves
  for (uint64_t i = 0; i < 24; ++i) heads.push_back((i % 5 << 32) + (i % 3 == 0 ? 0 : random() % 64));
  heads.push_back((uint64_t{1} << 58) - 40);
  for (int i = 0; i < 200'000; ++i) {
    uint64_t& head = heads[random() % heads.size()];
    if (random() % 8 != 0) head += random() % 6;
    if (random() % 16 == 0) head -= std::min<uint64_t>(head, random() % 12);
    std::vector<uint64_t> wanted;
    streams.observe(head, 0, true, [&](uint64_t line) { wanted.push_back(line); });
    ASSERT_EQ(wanted, slow.observe(head)) << i;
    wanted_lines += wanted.size();
  }
  EXPECT_GT(wanted_lines, 10'000u);
}

TEST(Prefetch, UselessOnesAreCounted) {
  Hierarchy h(machine_with({PrefetchKind::kNextLine, 1, 1}));
  for (uint64_t i = 0; i < 5000; ++i) h.access_line(0, Access::kLoad, 64 * i);  // never the line behind
  const CacheStatistics s = level1_data(h.statistics());
  EXPECT_EQ(s.prefetches_issued, 5000u);
  EXPECT_EQ(s.prefetches_useful, 0u);
  EXPECT_GT(s.prefetches_unused, 4500u);
}

MachineConfig machine_with_tlb() {
  MachineConfig m = small_machine(1);
  m.tlb = TlbConfig{{4, 4}, {8, 8}, {32, 4}, 7, 30};
  return m;
}

TEST(Tlb, LoopsOverPages) {
  struct Case {
    uint64_t pages, misses_per_round, walks_per_round;
  };
  for (const Case c : {Case{8, 0, 0}, Case{9, 9, 0}, Case{32, 32, 0}, Case{64, 64, 64}}) {
    Hierarchy h(machine_with_tlb());
    const uint64_t rounds = 10;
    for (uint64_t r = 0; r < rounds; ++r)
      for (uint64_t p = 0; p < c.pages; ++p)
        for (uint64_t i = 0; i < 5; ++i) h.access(0, Access::kLoad, p * 4096 + 64 * i, 8);
    const TlbCounts t = h.statistics().cores[0].data_tlb;
    EXPECT_EQ(t.accesses, 5 * rounds * c.pages);
    EXPECT_EQ(t.misses, c.pages + (rounds - 1) * c.misses_per_round);
    EXPECT_EQ(t.walks, c.pages + (rounds - 1) * c.walks_per_round);
    EXPECT_EQ(h.statistics().cores[0].fetch_tlb, TlbCounts{});
  }
}

// As those of real machines are: with states that are left and come back to.
TEST(Tlb, ManyPagesOfOneSetEqualAList) {
  constexpr uint32_t kEntries = 40;
  std::mt19937_64 random(7);
  Tlb tlb({{kEntries, kEntries}, {kEntries, kEntries}, {}, 7, 30});
  std::vector<uint64_t> list, kept_list;  // the page used last is the last
  StateArchive kept;
  uint64_t misses = 0;
  for (int i = 0; i < 60'000; ++i) {
    // Mostly a few, at times many, at times one after the other.
    const uint64_t page = i / 1000 % 4 == 0 ? i % 50 : random() % (random() % 8 == 0 ? 200 : 30);
    tlb.access(false, page);
    const auto found = std::find(list.begin(), list.end(), page);
    misses += found == list.end();
    if (found != list.end())
      list.erase(found);
    else if (list.size() == kEntries)
      list.erase(list.begin());
    list.push_back(page);
    ASSERT_EQ(tlb.counts(false, 0).misses, misses) << i;
    if (i % 5000 == 3210) kept = {}, tlb.archive(kept), kept_list = list;
    if (i % 5000 != 3217) continue;  // soon, so that what was foreseen is of it, in part
    StateArchive back(kept.bytes());
    tlb.archive(back);
    list = kept_list;
  }
  EXPECT_GT(misses, 5000u);
}

TEST(Tlb, LargePagesReachFurther) {
  MachineConfig m = machine_with_tlb();
  m.page_bytes = 2 << 20;
  Hierarchy h(m);
  for (uint64_t a = 0; a < 16 << 20; a += 4096) h.access(0, Access::kLoad, a, 8);
  EXPECT_EQ(h.statistics().cores[0].data_tlb.walks, 8u);
}

TEST(Tlb, ChangesNothingInTheCaches) {
  std::mt19937_64 random(3);
  Hierarchy with(machine_with_tlb()), without(small_machine(1));
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t line = random() % 3000;
    const auto kind = static_cast<Access>(random() % 6);
    with.access_line(0, kind, line);
    without.access_line(0, kind, line);
  }
  EXPECT_TRUE(with.statistics().levels == without.statistics().levels);
}

// Pages far apart in the address space that would share sets lie side by side in physical memory.
TEST(FirstTouch, FramesInOrderOfUse) {
  MachineConfig m = small_machine(1);
  const uint64_t lines = m.levels[0].data.size_bytes / 64, pages = lines / 64;
  ASSERT_GE(pages, 1u);
  m.addresses = Addresses::kFirstTouch;
  Hierarchy h(m);
  for (int round = 0; round < 3; ++round)
    for (uint64_t p = 0; p < pages; ++p)
      for (uint64_t i = 0; i < 64; ++i) h.access_line(0, Access::kLoad, (p << 30) + i);
  EXPECT_EQ(level1_data(h.statistics()).requests.misses.reads, lines);
  EXPECT_THROW(h.keep_details(), UserError);
}

TEST(Prefetch, DetailsStayConsistent) {
  MachineConfig m = machine_with({PrefetchKind::kStream, 2, 1});
  m.levels[1].unified.prefetch = {{PrefetchKind::kNextLine, 1, 1}};
  Hierarchy plain(m), detailed(m);
  detailed.keep_details();
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t address = random() % 200 * 640 + random() % 4096;
    const auto kind = static_cast<Access>(random() % 6);
    plain.access(0, kind, address, 8);
    detailed.access_detailed(0, kind, address, 8, {0, 0, 0});
  }
  Statistics counts = detailed.statistics();
  for (LevelStatistics& level : counts.levels) {
    level.details.reset();
    for (CacheInstanceStatistics& cache : level.caches) cache.details.reset();
  }
  EXPECT_TRUE(plain.statistics() == counts);
}

}  // namespace
}  // namespace simrun::sim
