// What processes share is one memory in the model, and nothing else is.
#include "instr/channel/memory_names.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <set>

#include "instr/channel/stream_error.h"

namespace simrun::channel {
namespace {

constexpr uint64_t kPage = MemoryNames::kPageBytes, kPlace = 0x7000'0000'0000, kOther = 0x7100'0000'0000;
constexpr uint64_t kHeap = 0x5555'0000'0000;

class Names : public ::testing::Test {
 protected:
  void call(uint32_t process, std::vector<uint64_t> payload) {
    payload.resize(11);
    names.event(process, border::Event::kMappingChange, payload);
  }
  void map(uint32_t process, uint64_t at, uint64_t pages, uint64_t flags, uint64_t file = 0, uint64_t offset = 0) {
    const uint64_t more = file == 0 ? MAP_ANONYMOUS : 0;
    call(process, {SYS_mmap, at, at, pages * kPage, PROT_READ | PROT_WRITE, flags | more, 3, offset, 0,
                   file == 0 ? 0u : 8u, file});
  }
  void unmap(uint32_t process, uint64_t at, uint64_t pages) { call(process, {SYS_munmap, 0, at, pages * kPage}); }
  uint64_t read(uint32_t process, uint64_t address) { return address + names.distance(process, address, false); }
  uint64_t write(uint32_t process, uint64_t address) { return address + names.distance(process, address, true); }

  MemoryNames names;
};

TEST_F(Names, OneProcessKeepsItsAddresses) {
  names.add_image(0, {});
  map(0, kPlace, 4, MAP_SHARED, 77);
  map(0, kOther, 4, MAP_PRIVATE);
  EXPECT_TRUE(names.is_plain());
  EXPECT_EQ(write(0, kHeap + 5), kHeap + 5);
  EXPECT_EQ(read(0, kOther), kOther);
}

TEST_F(Names, AFileMappedSharedByTwoImagesIsOneMemory) {
  names.add_image(0, {});
  names.add_image(1, {});
  EXPECT_FALSE(names.is_plain());
  map(0, kPlace, 4, MAP_SHARED, 77);
  map(1, kOther, 2, MAP_SHARED, 77, 2 * kPage);
  EXPECT_EQ(write(0, kPlace + 2 * kPage + 8), read(1, kOther + 8));
  EXPECT_EQ(read(0, kPlace + 3 * kPage), write(1, kOther + kPage));
  EXPECT_NE(read(0, kPlace), read(1, kOther));
  map(1, kOther, 2, MAP_SHARED, 78);
  EXPECT_NE(read(0, kPlace), read(1, kOther));
  EXPECT_NE(write(0, kHeap), write(1, kHeap));
}

TEST_F(Names, FilesKnownFromTheStartAreThoseMappedLater) {
  const border::MappedFile program{kPlace, kPlace + 4 * kPage, kPage, 8, 77, false};
  names.add_image(0, {&program, 1});
  names.add_image(1, {});
  map(1, kOther, 1, MAP_PRIVATE, 77, 2 * kPage);
  EXPECT_EQ(read(0, kPlace + kPage + 3), read(1, kOther + 3));
}

TEST_F(Names, APrivatePageOfAFileIsSharedUntilItIsWritten) {
  names.add_image(0, {});
  names.add_image(1, {});
  for (const uint32_t process : {0u, 1u}) map(process, kPlace, 2, MAP_PRIVATE, 77);
  EXPECT_EQ(read(0, kPlace), read(1, kPlace));
  EXPECT_NE(write(1, kPlace), read(0, kPlace));
  EXPECT_EQ(read(1, kPlace), write(1, kPlace));
  EXPECT_EQ(read(0, kPlace + kPage), read(1, kPlace + kPage));
  EXPECT_NE(write(0, kPlace), write(1, kPlace));
}

TEST_F(Names, AForkSharesPagesUntilTheChildWrites) {
  names.add_image(0, {});
  EXPECT_EQ(write(0, kHeap), kHeap);
  names.add_copy(1, 0);
  EXPECT_EQ(read(1, kHeap), kHeap);
  const uint64_t copy = write(1, kHeap);
  EXPECT_NE(copy, kHeap);
  EXPECT_EQ(read(1, kHeap + 8), copy + 8);
  EXPECT_EQ(write(0, kHeap), kHeap);
  EXPECT_EQ(read(1, kHeap + kPage), kHeap + kPage);
}

TEST_F(Names, AForkSharesPagesUntilTheParentWrites) {
  names.add_image(0, {});
  names.add_copy(1, 0);
  names.add_copy(2, 1);
  EXPECT_EQ(read(1, kHeap), read(2, kHeap));
  EXPECT_EQ(write(0, kHeap), kHeap);
  EXPECT_NE(read(1, kHeap), kHeap);
  EXPECT_NE(read(2, kHeap), kHeap);
  EXPECT_NE(read(1, kHeap), read(2, kHeap));
}

TEST_F(Names, AGrandchildSharesWithTheChildWhatTheChildHadWritten) {
  names.add_image(0, {});
  names.add_copy(1, 0);
  const uint64_t of_child = write(1, kHeap);
  names.add_copy(2, 1);
  EXPECT_EQ(read(2, kHeap), of_child);
  EXPECT_EQ(write(1, kHeap), of_child);
  EXPECT_NE(read(2, kHeap), of_child);
  EXPECT_NE(read(2, kHeap), kHeap);
}

TEST_F(Names, SharedMemoryWithoutAFileIsSharedByTheForkedOnly) {
  names.add_image(0, {});
  map(0, kPlace, 2, MAP_SHARED);
  map(0, kOther, 2, MAP_SHARED);
  names.add_copy(1, 0);
  EXPECT_EQ(write(0, kPlace), write(1, kPlace));
  EXPECT_EQ(write(0, kOther), write(1, kOther));
  EXPECT_NE(write(0, kPlace), write(1, kOther));
  names.add_image(2, {});
  map(2, kPlace, 2, MAP_SHARED);
  EXPECT_NE(write(2, kPlace), write(0, kPlace));
}

// What caches hold of it is there still.
TEST_F(Names, WhatTheFirstProcessMappedSharedKeepsItsAddresses) {
  names.add_image(0, {});
  map(0, kPlace, 4, MAP_SHARED);
  map(0, kOther, 2, MAP_SHARED, 77, kPage);
  EXPECT_TRUE(names.is_plain());
  names.add_copy(1, 0);
  EXPECT_EQ(write(0, kPlace), kPlace);
  EXPECT_EQ(read(1, kPlace), kPlace);
  EXPECT_EQ(write(1, kOther + kPage), kOther + kPage);
  EXPECT_EQ(read(0, kOther + kPage), kOther + kPage);
  // Until the first process has something else there: in a part of it, and others go on.
  unmap(0, kPlace + kPage, 1);
  EXPECT_EQ(write(0, kPlace + kPage), kPlace + kPage);
  names.add_copy(2, 1);
  for (const uint64_t page : {0, 1, 2, 3}) {
    const uint64_t name = read(1, kPlace + page * kPage);
    EXPECT_NE(name, kPlace + page * kPage);
    EXPECT_EQ(read(2, kPlace + page * kPage), name);
    EXPECT_EQ(read(0, kPlace + page * kPage) == name, page != 1);
  }
  EXPECT_EQ(read(1, kPlace + 3 * kPage), read(1, kPlace) + 3 * kPage);
  // Or until another has the file that has not got it by a fork.
  names.add_image(3, {});
  map(3, kPlace, 3, MAP_SHARED, 77);
  EXPECT_EQ(read(3, kPlace + 2 * kPage), read(0, kOther + kPage));
  EXPECT_EQ(read(1, kOther + kPage), read(0, kOther + kPage));
  EXPECT_NE(read(3, kPlace), read(0, kOther));
}

TEST_F(Names, MappingsOfTheFirstProcessThatCloseAreForgotten) {
  names.add_image(0, {});
  map(0, kPlace, 4, MAP_SHARED);
  unmap(0, kPlace, 2);
  map(0, kPlace, 4, MAP_PRIVATE);
  map(0, kPlace, 4, MAP_SHARED, 77);
  unmap(0, kPlace, 4);
  map(0, kOther, 4, MAP_SHARED, 77);
  names.add_copy(1, 0);
  EXPECT_EQ(read(1, kOther), kOther);
  EXPECT_EQ(read(1, kPlace), kPlace);
  EXPECT_NE(write(1, kPlace), kPlace);
  // One that moves has another name.
  call(1, {SYS_mremap, kPlace, kOther, 4 * kPage, 8 * kPage, MREMAP_MAYMOVE});
  EXPECT_EQ(read(1, kPlace + kPage), read(0, kOther + kPage));
  EXPECT_NE(read(1, kPlace), kOther);
}

TEST_F(Names, SystemVSegmentsAreSharedByNumberUntilDetached) {
  names.add_image(0, {});
  names.add_image(1, {});
  call(0, {SYS_shmat, kPlace, 5, 0, 0, 2 * kPage, 0, 0, 0, border::kSegmentDevice, 5});
  call(1, {SYS_shmat, kOther, 5, 0, 0, 2 * kPage, 0, 0, 0, border::kSegmentDevice, 5});
  EXPECT_EQ(write(0, kPlace + kPage), write(1, kOther + kPage));
  call(1, {SYS_shmdt, 0, kOther});
  EXPECT_NE(write(0, kPlace + kPage), write(1, kOther + kPage));
}

TEST_F(Names, WhatIsMappedAnewIsNotWhatTheChildStillHas) {
  names.add_image(0, {});
  map(0, kPlace, 4, MAP_PRIVATE);
  write(0, kPlace);
  names.add_copy(1, 0);
  unmap(0, kPlace, 4);
  map(0, kPlace, 4, MAP_PRIVATE);
  EXPECT_NE(read(0, kPlace), read(1, kPlace));
  EXPECT_NE(write(0, kPlace + kPage), write(1, kPlace + kPage));
}

TEST_F(Names, UnmappedSharedMemoryIsSharedNoMore) {
  names.add_image(0, {});
  names.add_image(1, {});
  for (const uint32_t process : {0u, 1u}) map(process, kPlace, 3, MAP_SHARED, 77);
  unmap(1, kPlace + kPage, 1);
  EXPECT_EQ(read(0, kPlace), read(1, kPlace));
  EXPECT_NE(read(0, kPlace + kPage), read(1, kPlace + kPage));
  EXPECT_EQ(read(0, kPlace + 2 * kPage), read(1, kPlace + 2 * kPage));
}

TEST_F(Names, AMovedMappingShowsTheSameMemory) {
  names.add_image(0, {});
  names.add_image(1, {});
  map(0, kPlace, 4, MAP_SHARED, 77);
  map(1, kPlace, 2, MAP_SHARED, 77);
  call(1, {SYS_mremap, kOther, kPlace, 2 * kPage, 4 * kPage, MREMAP_MAYMOVE});
  for (uint64_t k = 0; k < 4; ++k) EXPECT_EQ(read(0, kPlace + k * kPage), write(1, kOther + k * kPage));
  EXPECT_NE(read(0, kPlace), read(1, kPlace));
}

TEST_F(Names, OneProcessThatMapsSharedMemoryTwiceHasOneMemory) {
  names.add_image(0, {});
  map(0, kPlace, 2, MAP_SHARED, 77);
  map(0, kOther, 2, MAP_SHARED, 77);
  EXPECT_FALSE(names.is_plain());
  EXPECT_EQ(write(0, kPlace + 8), read(0, kOther + 8));
}

TEST_F(Names, AChildThatHasEndedIsNotSeparated) {
  names.add_image(0, {});
  names.add_copy(1, 0);
  names.forget(1);
  EXPECT_FALSE(names.knows(1));
  EXPECT_EQ(write(0, kHeap), kHeap);
  names.add_copy(2, 0);
  EXPECT_EQ(read(2, kHeap), kHeap);
}

// The numbers of processes end at 61,440, and those of files were in the 4,194,304 ranges behind.
TEST(ManyNames, FilesAndProcessesDoNotGetTheNamesOfOthers) {
  MemoryNames names((uint64_t{1} << 22) - 1);
  names.add_image(0, {});
  names.add_image(1, {});
  const auto map = [&](uint64_t file) {
    const std::array<uint64_t, 11> payload{SYS_mmap, kPlace, kPlace, kPage, PROT_READ, MAP_SHARED, 3, 0, 0, 8, file};
    names.event(1, border::Event::kMappingChange, payload);
    return kPlace + names.distance(1, kPlace, false);
  };
  std::set<uint64_t> files;
  for (uint64_t file = 100; file < 1200; ++file) {
    const uint64_t name = map(file);
    EXPECT_NE(name >> 47 & 1, 0u) << "an address below 2^47 may have that name in some process";
    files.insert(name);
  }
  EXPECT_EQ(files.size(), 1100u);
  const auto are_near = [](uint64_t a, uint64_t b) { return b - a < uint64_t{1} << 38; };
  EXPECT_EQ(std::adjacent_find(files.begin(), files.end(), are_near), files.end());
  EXPECT_EQ(map(100), map(100));

  const auto own = [&](uint32_t process) {
    names.add_image(process, {});
    return kHeap + names.distance(process, kHeap, true);
  };
  std::set<uint64_t> heaps;
  for (const uint32_t process : {0u, 1u, 2u, 0xefffu, 0xf000u, 0xf001u, 0x10000u, 0x10001u, 0x1d000u})
    heaps.insert(own(process));
  EXPECT_EQ(heaps.size(), 9u);
  for (const uint64_t heap : heaps) {
    const auto behind = files.upper_bound(heap);
    if (behind == files.begin()) continue;
    EXPECT_GE(heap - *std::prev(behind), uint64_t{1} << 38);
  }
}

TEST(ManyNames, WithoutNamesThereIsAnError) {
  MemoryNames names((uint64_t{1} << 22) + uint64_t{511} * 0xf000 - 1);
  names.add_image(0, {});
  EXPECT_THROW(names.add_image(0xf000, {}), StreamError);
  const border::MappedFile last{kPlace, kPlace + kPage, 0, 8, 77, true}, one_more{kPlace, kPlace + kPage, 0, 8, 78, true};
  names.add_image(1, {&last, 1});
  names.add_image(2, {&last, 1});
  EXPECT_THROW(names.add_image(3, {&one_more, 1}), StreamError);
}

// It has a number that does not come again.
TEST_F(Names, SharedMemoryWithoutAFileIsNotKept) {
  names.add_image(0, {});
  names.add_image(1, {});
  for (int k = 0; k < 100; ++k) {
    map(1, kPlace, 4, MAP_SHARED);
    unmap(1, kPlace, 4);
  }
  EXPECT_EQ(names.objects_kept(), 0u);
}

}  // namespace
}  // namespace simrun::channel
