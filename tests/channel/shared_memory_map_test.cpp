#include "instr/channel/shared_memory_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>

namespace simrun::channel {
namespace {

constexpr uint64_t kSharedPage = 4096;

class SharedMemoryTest : public ::testing::Test {
 protected:
  // The payload of kMappingChange.
  void change(uint64_t number, uint64_t result, std::array<uint64_t, 6> a, uint64_t device = 0, uint64_t file = 0) {
    const std::array<uint64_t, 11> payload = {number, result, a[0], a[1], a[2], a[3], a[4], a[5], 0, device, file};
    memory_.change(payload);
  }
  void map(uint64_t at, uint64_t pages, uint64_t flags, uint64_t file = 0, uint64_t offset = 0) {
    change(SYS_mmap, at, {0, pages * kSharedPage, PROT_READ | PROT_WRITE, flags, 0, offset}, 5, file);
  }

  SharedMemory memory_;
};

TEST_F(SharedMemoryTest, AFileIsTheSameWhereverItIsMapped) {
  map(0x100000, 4, MAP_SHARED, 77), map(0x200000, 1, MAP_SHARED, 77, 2 * kSharedPage), map(0x300000, 1, MAP_SHARED, 78);
  EXPECT_EQ(memory_.name_of(0x102008), memory_.name_of(0x200008));
  EXPECT_NE(memory_.name_of(0x100000), memory_.name_of(0x300000));
}

TEST_F(SharedMemoryTest, WithoutAFileEachIsItsOwn) {
  map(0x100000, 1, MAP_SHARED | MAP_ANONYMOUS), map(0x200000, 1, MAP_SHARED | MAP_ANONYMOUS);
  ASSERT_TRUE(memory_.name_of(0x100000));
  EXPECT_NE(memory_.name_of(0x100000), memory_.name_of(0x200000));
  const SharedMemory of_a_child = memory_;
  EXPECT_EQ(of_a_child.name_of(0x100010), memory_.name_of(0x100010));
}

TEST_F(SharedMemoryTest, NotWhatIsPrivateOrGone) {
  map(0x100000, 4, MAP_SHARED, 77);
  const auto last = memory_.name_of(0x103000);
  EXPECT_FALSE(memory_.name_of(0xfffff));
  EXPECT_FALSE(memory_.name_of(0x104000));
  change(SYS_munmap, 0, {0x101000, kSharedPage, 0, 0, 0, 0}), map(0x102000, 1, MAP_PRIVATE | MAP_ANONYMOUS);
  EXPECT_TRUE(memory_.name_of(0x100ff8));
  EXPECT_FALSE(memory_.name_of(0x101000));
  EXPECT_FALSE(memory_.name_of(0x102000));
  EXPECT_EQ(memory_.name_of(0x103000), last);
}

TEST_F(SharedMemoryTest, WhatIsMovedKeepsItsName) {
  map(0x100000, 2, MAP_SHARED, 77);
  const auto name = memory_.name_of(0x101010);
  change(SYS_mremap, 0x200000, {0x100000, 2 * kSharedPage, 4 * kSharedPage, MREMAP_MAYMOVE, 0, 0});
  EXPECT_FALSE(memory_.name_of(0x101010));
  EXPECT_EQ(memory_.name_of(0x201010), name);
}

TEST_F(SharedMemoryTest, AnImageBeginsWithoutAny) {
  map(0x100000, 1, MAP_SHARED, 77);
  change(0, 0, {});
  EXPECT_FALSE(memory_.name_of(0x100000));
}

}  // namespace
}  // namespace simrun::channel
