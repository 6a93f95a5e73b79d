// Distances of one line in 16 against those of all, and what they count.
#include "cli/phases/reuse_distances.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

#include "sim/curves/stack_distance.h"

namespace simrun::cli {
namespace {

using Buckets = std::array<double, ReuseDistances::kBuckets>;

Buckets take(ReuseDistances& distances) {
  Buckets made{};
  distances.take([&](uint32_t bucket, uint64_t references) { made[bucket] += static_cast<double>(references); });
  return made;
}

// The same of every line.
Buckets exact(const std::function<uint64_t()>& next_line, uint64_t references) {
  sim::StackDistance lines;
  Buckets made{};
  for (uint64_t i = 0; i < references; ++i) {
    const uint64_t distance = lines.access(next_line());
    ++made[distance == sim::StackDistance::kFirst ? ReuseDistances::kFirstUse : static_cast<uint32_t>(std::bit_width(distance | 1)) - 1];
  }
  return made;
}

TEST(ReuseDistances, OfALoopOverAnArray) {
  for (const uint64_t lines : {uint64_t{3000}, uint64_t{50'000}, uint64_t{600'000}}) {
    ReuseDistances distances;
    for (int round = 0; round < 4; ++round)
      for (uint64_t line = 0; line < lines; ++line) distances.access(0x1fc'48d1'59c0 + line);
    const Buckets made = take(distances);
    const double all = static_cast<double>(lines);
    EXPECT_NEAR(made[ReuseDistances::kFirstUse], all, 0.05 * all) << lines;
    const auto bucket = static_cast<uint32_t>(std::bit_width(lines)) - 1;
    EXPECT_NEAR(made[bucket], 3 * all, 0.15 * all) << lines;
    const Buckets none = take(distances);
    EXPECT_EQ(none, Buckets{}) << "they are taken once";
  }
}

TEST(ReuseDistances, AreAboutThoseOfAllLines) {
  constexpr uint64_t kReferences = 400'000;
  for (const double power : {1.5, 3.0, 6.0}) {
    const auto generator = [power] {
      return [random = std::mt19937_64(3), uniform = std::uniform_real_distribution<double>(0, 1), power]() mutable {
        return static_cast<uint64_t>(40'000 * std::pow(uniform(random), power));
      };
    };
    ReuseDistances distances;
    for (auto [i, next] = std::pair(uint64_t{0}, generator()); i < kReferences; ++i) distances.access(next());
    const Buckets made = take(distances), wanted = exact(generator(), kReferences);
    for (uint32_t bucket = 10; bucket < ReuseDistances::kBuckets; ++bucket)
      EXPECT_NEAR(made[bucket], wanted[bucket], 0.05 * kReferences) << power << ": 2^" << bucket;
    double far = 0, wanted_far = 0;
    for (uint32_t bucket = 10; bucket < ReuseDistances::kBuckets; ++bucket) far += made[bucket], wanted_far += wanted[bucket];
    EXPECT_NEAR(far, wanted_far, 0.05 * wanted_far) << power;
  }
}

TEST(ReuseDistances, CountAsTheSquareRoot) {
  EXPECT_EQ(ReuseDistances::worth(7), 0);
  EXPECT_DOUBLE_EQ(ReuseDistances::worth(8), 16 / 1.5);
  EXPECT_DOUBLE_EQ(ReuseDistances::worth(14), 128 / 1.5);
  EXPECT_DOUBLE_EQ(ReuseDistances::worth(ReuseDistances::kFirstUse), 1024 / 1.5);
  for (uint32_t bucket = 9; bucket < 20; ++bucket) EXPECT_GT(ReuseDistances::worth(bucket), ReuseDistances::worth(bucket - 1));
}

// What has not been taken when the thread ends is still there.
TEST(ReuseDistances, OutliveTheirLines) {
  ReuseDistances distances;
  for (uint64_t line = 0; line < 10'000; ++line) distances.access(line);
  distances.end();
  EXPECT_NEAR(take(distances)[ReuseDistances::kFirstUse], 10'000, 500);
}

}  // namespace
}  // namespace simrun::cli
