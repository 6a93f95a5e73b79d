// What the threads of a writer cannot have, threads and memory, ends in words, and with a file that can be read.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <thread>

#include "base/user_error.h"
#include "made_trace.h"
#include "tests/sim/few_threads.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace {

// Above which allocations fail, but those of the test's thread.
std::atomic<size_t> most_bytes{~size_t{0}};
thread_local bool is_test_thread = false;

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  void* const memory = bytes > most_bytes && !is_test_thread ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace simrun::traces {
namespace {

TEST(WriterFailure, NoMoreThreadsAreAnErrorAndLeaveNoFile) {
  const ScratchDirectory scratch;
  const test::FewThreads few(3);
  try {
    Writer(scratch.file("t"), {{"command", {"made"}}}, {.workers = 8});
    FAIL() << "as many threads as it wants";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("no more threads for what compresses the trace"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.file("t.partial")));
}

TEST(WriterFailure, WithoutMemoryTheTraceHoldsWhatCameBefore) {
  const ScratchDirectory scratch;
  MadeTrace made(4, 6);
  is_test_thread = true;
  uint64_t before = 0, added = 0;
  {
    Writer writer(scratch.file("t"), {{"command", {"made"}}}, {.workers = 2, .chunk_words = 2000});
    writer.add_process({});
    made.describe(writer.process(0));
    writer.start_thread(0, 0, 100, 0, 0);
    const auto fill = [&] {
      uint64_t instructions = 0;
      const auto paths = made.paths(2000, &instructions);
      writer.add_paths(0, paths, 2000, instructions);
      added += instructions;
    };
    for (int k = 0; k < 20; ++k) fill();
    while (writer.written_instructions() == 0) std::this_thread::yield();
    most_bytes = 500;
    while (writer.stopped().empty()) fill();
    most_bytes = ~size_t{0};
    EXPECT_EQ(writer.stopped(), "there is not enough memory");
    fill();
    before = writer.written_instructions();
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
  }
  is_test_thread = false;
  const Reader trace(scratch.file("t"));
  EXPECT_EQ(trace.incomplete(), "the recording ended early: there is not enough memory");
  EXPECT_EQ(trace.instructions(), before);
  EXPECT_LT(before, added);
  EXPECT_EQ(trace.summary().at("stopped"), "there is not enough memory");
}

}  // namespace
}  // namespace simrun::traces
