#include "instr/engine/decode/known_features.h"

#include <gtest/gtest.h>

namespace simrun::engine {
namespace {

constexpr uint32_t kAll = 0xffffffff;
constexpr CpuidLeaf kEverything{kAll, kAll, kAll, kAll};

TEST(KnownFeatures, OthersAreNotShown) {
  const CpuidLeaf seven = without_unknown_features(7, 1, kEverything, 2);
  EXPECT_EQ(~seven.eax, 1u << 3 | 1u << 31) << "RAO-INT, MOVRS";
  EXPECT_EQ(~seven.edx, 1u << 15 | 1u << 19 | 1u << 21) << "USER_MSR, AVX10, APX";
  EXPECT_EQ(~without_unknown_features(7, 1, kEverything, 1).edx, 1u << 15 | 1u << 21) << "AVX10.1 is AVX-512";
  EXPECT_EQ(without_unknown_features(0x1e, 1, kEverything, 0).eax, 0xfu);
  EXPECT_EQ(~without_unknown_features(0x80000021, 0, kEverything, 0).eax, 1u << 23);
}

TEST(KnownFeatures, EverythingElseIs) {
  for (const uint32_t leaf : {0u, 1u, 7u, 0xdu, 0x14u, 0x1eu, 0x24u, 0x80000001u, 0x80000008u})
    EXPECT_EQ(without_unknown_features(leaf, 0, kEverything, 2), kEverything) << leaf;
  EXPECT_EQ(without_unknown_features(7, 2, kEverything, 2), kEverything);
  EXPECT_EQ(without_unknown_features(7, 1, {0, 1, 2, 4}, 2), (CpuidLeaf{0, 1, 2, 4}));
}

}  // namespace
}  // namespace simrun::engine
