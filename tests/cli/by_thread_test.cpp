#include "cli/by_thread.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace simrun::cli {
namespace {

// The threads of a process behind thousands of others take no more room than those of the first.
TEST(ByThread, BeginsAtTheFirstThread) {
  ByThread<int> table;
  table[10'000] = 1;
  EXPECT_EQ(table.size(), 1u);
  table[10'002] = 2;
  EXPECT_EQ(table.size(), 3u);
}

TEST(ByThread, EqualsAMap) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    ByThread<std::unique_ptr<int>> table;
    std::map<uint32_t, int> expected;
    for (int k = 0; k < 50; ++k) {
      const auto thread = static_cast<uint32_t>(1000 + random() % 40);
      const auto& found = table[thread];
      ASSERT_EQ(found != nullptr, expected.contains(thread));
      if (found != nullptr) {
        ASSERT_EQ(*found, expected[thread]);
      }
      table[thread] = std::make_unique<int>(k);
      expected[thread] = k;
    }
  }
}

}  // namespace
}  // namespace simrun::cli
