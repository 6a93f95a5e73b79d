// How often paths ran, from counters of blocks (docs/count-mode.md).
#include "instr/channel/path_counts.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "instr/channel/stream_error.h"
#include "tests/channel/fake_target.h"

namespace simrun::channel {
namespace {

using Executions = std::vector<std::pair<uint32_t, uint64_t>>;

Executions executions(const std::vector<PathCount>& counts) {
  Executions result;
  for (const PathCount& c : counts) result.emplace_back(c.path, c.executions);
  return result;
}

uint64_t word(uint32_t path, uint32_t count) { return path | uint64_t{count} << 32; }

// A superblock with two paths, then one with one.
class PathCounts : public ::testing::Test {
 protected:
  PathCounts() {
    target_.header().count_paths = 1;
    first_ = target_.add_path(0x1000, {{}, {}, {}}, 0);
    second_ = target_.add_prefix(first_, 2, 0);
    other_ = target_.add_plain(0x2000, 1);
  }

  FakeTarget target_{8192, 4, border::kSlotStride + border::kCounterBytes};
  uint32_t first_, second_, other_;
};

TEST_F(PathCounts, WhoBeganABlockAndNotTheNextTookThePathBetween) {
  const MappedProcess process(target_.mapping());
  const std::vector<uint64_t> payload = {word(first_, 10), word(second_, 4), word(other_, 20)};
  EXPECT_EQ(executions(path_counts(process, payload)), (Executions{{first_, 6}, {second_, 4}, {other_, 20}}));
}

TEST_F(PathCounts, RefusesMoreThatWentOnThanBegan) {
  const MappedProcess process(target_.mapping());
  EXPECT_THROW(path_counts(process, std::vector<uint64_t>{word(first_, 4), word(second_, 5)}), StreamError);
  EXPECT_THROW(path_counts(process, std::vector<uint64_t>{word(other_ + 1, 1)}), StreamError);
}

// A killed thread may have lowered the first counter and not the second.
TEST_F(PathCounts, WhatAKilledThreadLeftDoesNotWrap) {
  const MappedProcess process(target_.mapping());
  auto* const counters = const_cast<uint32_t*>(process.counters(3));
  ASSERT_NE(counters, nullptr);
  counters[first_] = 4, counters[second_] = 5, counters[other_] = 1;
  EXPECT_EQ(executions(left_in_counters(process, 3)), (Executions{{second_, 5}, {other_, 1}}));
}

}  // namespace
}  // namespace simrun::channel
