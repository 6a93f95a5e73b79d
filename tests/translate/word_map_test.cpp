// Which register values share a word of the stream.
#include "instr/engine/translate/word_map.h"

#include <gtest/gtest.h>

namespace simrun::engine {
namespace {

Instruction writes(GprSet registers) {
  Instruction i{};
  i.gpr_written = registers;
  i.distance_dest = kNoRegister;
  return i;
}

TEST(WordMap, AValueIsStoredOnce) {
  WordMap map;
  map.start(true);
  EXPECT_TRUE(map.use(kRbx).store_now);
  EXPECT_FALSE(map.use(kRbx).store_now);
  map.step(writes(bit(kRbx)));
  EXPECT_TRUE(map.use(kRbx).store_now);
  EXPECT_EQ(map.words(), 2);
}

// Nothing is left of the superblock before, neither of its first values nor of those that instructions made.
TEST(WordMap, EachSuperblockStartsAnew) {
  WordMap map;
  map.start(true);
  for (int k = 0; k < 64; ++k) {
    map.step(writes(0xffff));
    for (uint8_t r = 0; r < 16; ++r) EXPECT_TRUE(map.use(r).store_now);
  }
  map.start(true);
  EXPECT_EQ(map.words(), 0);
  for (uint16_t k = 0; k < 16; ++k) {
    const WordMap::Use use = map.use(static_cast<uint8_t>(k));
    EXPECT_TRUE(use.store_now);
    EXPECT_EQ(use.word, k + 1);
  }
  map.step(writes(bit(kRax)));
  EXPECT_TRUE(map.use(kRax).store_now);
}

}  // namespace
}  // namespace simrun::engine
