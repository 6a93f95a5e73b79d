// What two ways of taking the same paths must count alike.
#pragma once

#include <gtest/gtest.h>

#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

inline void expect_same_counts(const ThreadStatistics& x, const ThreadStatistics& y) {
  EXPECT_EQ(x.instructions, y.instructions);
  EXPECT_EQ(x.paths, y.paths);
  EXPECT_EQ(x.loads, y.loads);
  EXPECT_EQ(x.stores, y.stores);
  EXPECT_EQ(x.prefetches, y.prefetches);
  EXPECT_EQ(x.flushes, y.flushes);
  EXPECT_EQ(x.fetch_lines, y.fetch_lines);
  EXPECT_EQ(x.string_iterations, y.string_iterations);
}

}  // namespace simrun::channel
