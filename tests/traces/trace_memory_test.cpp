// What a trace says of the memory of processes, right and wrong.
#include "cli/trace_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/traces/made_trace.h"
#include "traces/reader.h"

namespace simrun::cli {
namespace {

using traces::Event;
using traces::MappedFile;
using Words = std::vector<uint64_t>;

Words event(Event e, Words payload) {
  payload.insert(payload.begin(), static_cast<uint64_t>(e) | uint64_t{payload.size()} << 32);
  return payload;
}
Words mapping(uint64_t call, uint64_t result, Words arguments, uint64_t device, uint64_t number) {
  arguments.resize(6);
  Words payload{call, result};
  payload.insert(payload.end(), arguments.begin(), arguments.end());
  payload.insert(payload.end(), {0, device, number});
  return event(Event::kMappingChange, payload);
}

// Three processes: two images with one file, and a copy of the first.
class TraceMemoryTest : public ::testing::Test {
 protected:
  TraceMemoryTest() {
    traces::Writer writer(scratch_.file("t"), {{"command", {"made"}}}, {.workers = 1});
    traces::MadeTrace made(1, 4);
    const std::vector<MappedFile> library = {{0x10000, 0x20000, 0, 7, 9, false}};
    for (uint32_t p = 0; p < 3; ++p) {
      traces::ProcessRecord record;
      if (p == 2) record.origin = traces::ProcessRecord::Origin::kForked;
      writer.add_process(record);
      made.describe(writer.process(p));
      if (p != 2) writer.add_first_files(p, library);
    }
    writer.start_thread(0, 0, 100, 0, 0);
    uint64_t instructions = 0;
    const auto paths = made.paths(5, &instructions);
    writer.add_paths(0, paths, 5, instructions);
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
    trace_.emplace(scratch_.file("t"));
    memory_.emplace(*trace_, 0);
  }
  void start(uint32_t process, bool is_copy) {
    memory_->change(process, event(Event::kProcessStart, {is_copy ? 1u : 0u}));
  }
  uint64_t name(uint32_t process, uint64_t address, bool write) {
    return address + memory_->names().distance(process, address, write);
  }

  const traces::ScratchDirectory scratch_;
  std::optional<traces::Reader> trace_;
  std::optional<TraceMemory> memory_;
};

TEST_F(TraceMemoryTest, FilesAndCopies) {
  start(0, false);
  EXPECT_TRUE(memory_->names().is_plain());
  start(1, false);
  start(2, true);
  EXPECT_EQ(name(0, 0x10008, false), name(1, 0x10008, false));  // the file
  EXPECT_NE(name(1, 0x10008, true), name(0, 0x10008, false));   // written: a copy
  EXPECT_EQ(name(0, 0x50008, false), name(2, 0x50008, false));  // forked
  EXPECT_NE(name(0, 0x50008, false), name(1, 0x50008, false));
  EXPECT_NE(name(2, 0x50008, true), name(0, 0x50008, false));
  memory_->change(1, mapping(SYS_mmap, 0x90000, {0, 0x1000, 3, MAP_SHARED, 3, 0x2000}, 7, 11));
  memory_->change(2, mapping(SYS_mmap, 0xa0000, {0, 0x1000, 3, MAP_SHARED, 3, 0x2000}, 7, 11));
  EXPECT_EQ(name(1, 0x90010, true), name(2, 0xa0010, true));
}

TEST_F(TraceMemoryTest, ProcessesThatTheTraceSaysNothingOf) {
  memory_->meet(1);
  EXPECT_TRUE(memory_->names().is_plain());
  start(0, false);
  start(2, true);
  memory_->meet(1);
  EXPECT_NE(name(1, 0x50008, false), name(0, 0x50008, false));
}

TEST_F(TraceMemoryTest, WhatNoProgramDoes) {
  start(0, false);
  EXPECT_THROW(start(0, false), traces::FormatError);
  EXPECT_THROW(start(9, false), traces::FormatError);
  EXPECT_THROW(memory_->change(0, event(Event::kProcessStart, {})), traces::FormatError);
  EXPECT_THROW(memory_->change(0, event(Event::kMappingChange, {9})), traces::FormatError);
  for (const uint64_t call : {SYS_mmap, SYS_munmap, SYS_mremap, SYS_shmat})
    EXPECT_THROW(
        memory_->change(0, mapping(call, 0x1000, {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}}, 1, 1)),
        traces::FormatError)
        << call;
  memory_->change(0, event(Event::kProcessEnd, {}));
  memory_->begin_chunk({});
  EXPECT_THROW(start(0, false), traces::FormatError);
  traces::Chunk chunk;
  chunk.threads.resize(1);
  chunk.first_instruction = 1;  // another one
  EXPECT_THROW(memory_->begin_chunk(chunk), traces::FormatError);
}

}  // namespace
}  // namespace simrun::cli
