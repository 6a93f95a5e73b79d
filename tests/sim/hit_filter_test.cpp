// What the filter lists: no more than it must. That it lists enough is what slices_test.cpp is about.
#include "sim/parallel/hit_filter.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <span>

#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

// Level 1 of 64 sets, a level 2 whose 16 sets are fewer than the filter would have columns otherwise.
MachineConfig machine(Inclusion inclusion, uint32_t ways) {
  MachineConfig m;
  m.name = "tiny", m.cores = 1;
  m.levels = {unified_level("L1", 1, 64 * 64 * ways, ways), unified_level("L2", 1, 16 * 64 * 1024, 1024)};
  m.levels[1].inclusion = inclusion;
  return m;
}

size_t listed(const MachineConfig& machine, std::initializer_list<uint64_t> lines) {
  HitFilter filter(std::span(&machine, 1));
  const Cache::Shortcut hits = filter.shortcut(false);
  for (const uint64_t line : lines)
    if (Cache::Recent& recent = hits.find(line); recent.answers(line, false))
      recent.used = ++*hits.clock;
    else
      filter.put(Access::kLoad, line);
  Group group;
  filter.end_group(group);
  return group.end;
}

TEST(HitFilter, OnlyInclusiveLevelsTakeLinesAway) {
  const std::initializer_list<uint64_t> one_set_of_level_2 = {0, 16, 32, 0, 16, 32, 0, 16, 32};
  EXPECT_EQ(listed(machine(Inclusion::kNonInclusive, 2), one_set_of_level_2), 3u);
  EXPECT_EQ(listed(machine(Inclusion::kExclusive, 2), one_set_of_level_2), 3u);
  EXPECT_EQ(listed(machine(Inclusion::kInclusive, 2), one_set_of_level_2), 9u);
}

// One line more than a set of level 1 has ways.
TEST(HitFilter, TheLeastRecentlyUsedLineGoes) {
  const MachineConfig m = machine(Inclusion::kNonInclusive, 3);
  EXPECT_EQ(listed(m, {0, 64, 128, 0, 192, 0, 128, 192}), 4u); // 64 went
  EXPECT_EQ(listed(m, {0, 64, 128, 0, 192, 64, 192, 0}), 5u);  // and 128 for it
  EXPECT_EQ(listed(m, {0, 64, 128, 0, 192, 64, 0, 128, 64, 0}), 6u);  // and 192
  EXPECT_EQ(listed(m, {0, 64, 128, 0, 192, 64, 0, 128, 192}), 7u);
}

}  // namespace
}  // namespace simrun::sim
