// What a trace says of cores that there are not.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "cli/phases/recorded_run.h"
#include "traces/trace_error.h"
#include "traces/writer.h"

namespace simrun::cli {
namespace {

struct CoresOfThreads {
  static constexpr bool kWantsReferences = false;
  uint32_t start_thread(const channel::ThreadReport&) { return 0; }
  uint32_t run_on(const channel::ThreadReport& thread) {
    cores.push_back(thread.core);
    return 0;
  }
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, channel::ReferenceKind, uint64_t, uint32_t) {}
  bool enter_path(channel::MergeThread&, const uint64_t*, channel::PathTable&) { return true; }
  void event(channel::MergeThread&, std::span<const uint64_t>, channel::PathTable&) {}

  std::vector<uint32_t> cores;
};

// By a thread of a machine of two cores that comes to run on `core`.
std::vector<uint32_t> cores_with(uint64_t core) {
  const std::string file = testing::TempDir() + "recorded_cores.trace";
  {
    traces::Writer writer(file, {{"command", {"made"}}, {"options", {{"cores", 2}}}}, {.workers = 1});
    writer.add_process({});
    traces::Superblock nop;
    nop.pc = 0x1000;
    nop.instructions.push_back({0, 1, traces::kEndsBlock});
    nop.code = {0x90};
    writer.process(0).add_superblock(nop);
    writer.process(0).add_path({0, 1, 0, 0});
    writer.start_thread(0, 0, 100, 0, 0);
    writer.add_paths(0, std::vector<uint64_t>{traces::kFirstPath}, 1, 1);
    writer.add_event(0, std::vector<uint64_t>{static_cast<uint64_t>(traces::Event::kCore) | uint64_t{2} << 32, core, 1});
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
  }
  RecordedRun run(file);
  std::filesystem::remove(file);
  CoresOfThreads sink;
  run.into(sink, 64, 2, true);
  return sink.cores;
}

TEST(RecordedCores, AreThoseOfTheMachine) {
  EXPECT_EQ(cores_with(1), std::vector<uint32_t>{1});
  EXPECT_ANY_THROW(cores_with(2));
  EXPECT_ANY_THROW(cores_with(uint64_t{1} << 32 | 1));  // 1 in 32 bits
}

}  // namespace
}  // namespace simrun::cli
