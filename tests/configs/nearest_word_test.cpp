// Words that are meant, and words that nothing is near.
#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace simrun {
namespace {

TEST(NearestWord, IsTheOneWithFewestTypos) {
  const std::vector<std::string> known = {"size", "ways", "latency", "replacement", "data"};
  EXPECT_EQ(nearest_word("way", known), "ways");
  EXPECT_EQ(nearest_word("Size", known), "size");
  EXPECT_EQ(nearest_word("dtaa", known), "data");
  EXPECT_EQ(nearest_word("relpacemnt", known), "replacement");
}

TEST(NearestWord, OrTheOnlyOneThatBeginsSo) {
  EXPECT_EQ(nearest_word("lat", {"size", "latency"}), "latency");
  EXPECT_EQ(nearest_word("K", {"KiB", "MiB", "GiB", "B"}), "KiB");
  EXPECT_EQ(nearest_word("m", {"KiB", "MiB", "GiB", "B"}), "MiB");
  EXPECT_EQ(nearest_word("sim", {"simpoint", "simulate"}), "");
}

TEST(NearestWord, IsNoneOfOtherWords) {
  EXPECT_EQ(nearest_word("policy", {"name", "size", "ways", "latency"}), "");
  EXPECT_EQ(nearest_word("walk", {"instruction", "data", "second"}), "");
  EXPECT_EQ(nearest_word("nonex", {"l3_4core", "l3_8core", "host"}), "");
  EXPECT_EQ(nearest_word("X", {"KiB", "MiB", "GiB", "B"}), "");
  EXPECT_EQ(nearest_word("", {"a", "b"}), "");
  EXPECT_EQ(nearest_word("", {"a"}), "");
}

}  // namespace
}  // namespace simrun
