// Count mode against trace mode: every instruction of a program as often in the one as in the other, and intervals that end at the exact
// instruction (docs/count-mode.md).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/user_error.h"
#include "instr/channel/interval_sink.h"
#include "instr/channel/merge.h"
#include "instr/host/target.h"

namespace simrun::channel {
namespace {

// pc -> executions
using Histogram = std::map<uint64_t, uint64_t>;

struct Outcome {
  std::vector<Interval> intervals;
  std::vector<ThreadReport> threads;
  Histogram instructions;
  uint64_t total() const {
    uint64_t sum = 0;
    for (const auto& [pc, executions] : instructions) sum += executions;
    return sum;
  }
};

template <class Sink>
std::vector<ThreadReport> run(Merge<Sink>& merge, host::Target& target) {
  for (;;) {
    const bool alive = target.running();
    const Status status = merge.advance(alive);
    if (status == Status::kFinished) return merge.reports();
    if (status == Status::kIdle) usleep(100);
  }
}

void add(Histogram& to, const PathTable& paths, uint32_t path, uint64_t executions, uint32_t instructions) {
  const PathCode code = paths.code(path);
  for (uint32_t k = 0; k < std::min<size_t>(instructions, code.instructions.size()); ++k) to[code.instructions[k].pc] += executions;
}

host::LaunchOptions options_for(const std::vector<std::string>& command, border::Mode mode) {
  host::LaunchOptions options;
  options.command = command;
  options.mode = mode;
  options.engine_path = SIMRUN_ENGINE;
  options.ring_bytes = 1u << 20;
  options.ring_chunk_bytes = 64u << 10;
  return options;
}

Outcome counted(host::LaunchOptions options) {
  options.count_paths = true;
  const auto target = std::make_unique<host::Target>(host::launch(options));
  const MappedProcess process(target->mapping());
  Outcome result;
  IntervalSink sink([&](const Interval& interval) { result.intervals.push_back(interval); });
  Merge<IntervalSink> merge(process, sink, {});
  result.threads = run(merge, *target);
  sink.finish(process, result.threads);
  PathTable paths(process, 64);
  for (const Interval& interval : result.intervals) {
    for (const PathCount& c : interval.counts) add(result.instructions, paths, c.path, c.executions, paths.decode(c.path).instructions);
    for (const PathCut& c : interval.cuts) add(result.instructions, paths, (paths.decode(c.path), c.path), 1, c.instructions);
  }
  return result;
}

struct PathSink {
  static constexpr bool kWantsReferences = false;
  uint32_t start_thread(const ThreadReport& thread) { return thread.index; }
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, ReferenceKind, uint64_t, uint32_t) {}
  void path(MergeThread&, const uint64_t* words, uint32_t, uint32_t) { ++executions[static_cast<uint32_t>(words[0])]; }
  void event(uint32_t, border::Event event, std::span<const uint64_t> payload) {
    if (event == border::Event::kCut) cuts.push_back({static_cast<uint32_t>(payload[0]), static_cast<uint32_t>(payload[1])});
  }
  std::map<uint32_t, uint64_t> executions;
  std::vector<PathCut> cuts;
};

Outcome traced(const std::vector<std::string>& command) {
  const auto target = std::make_unique<host::Target>(host::launch(options_for(command, border::Mode::kTrace)));
  const MappedProcess process(target->mapping());
  Outcome result;
  PathSink sink;
  Merge<PathSink> merge(process, sink, {});
  result.threads = run(merge, *target);
  PathTable paths(process, 64);
  for (const auto& [path, executions] : sink.executions) add(result.instructions, paths, path, executions, paths.decode(path).instructions);
  for (const PathCut& c : sink.cuts) add(result.instructions, paths, (paths.decode(c.path), c.path), 1, c.instructions);
  return result;
}

// Every interval but a thread's last ends at a multiple of `interval`, and holds as many instructions as it is long.
void expect_exact(const Outcome& outcome, uint64_t interval) {
  std::map<uint32_t, uint64_t> retired;
  for (size_t k = 0; k < outcome.intervals.size(); ++k) {
    const Interval& i = outcome.intervals[k];
    EXPECT_EQ(i.start, retired[i.thread]);
    retired[i.thread] = i.end;
    const bool last = std::none_of(outcome.intervals.begin() + static_cast<long>(k) + 1, outcome.intervals.end(),
                                   [&](const Interval& later) { return later.thread == i.thread; });
    if (!last) {
      EXPECT_EQ(i.end - i.start, interval) << "thread " << i.thread << " at " << i.start;
    }
  }
  for (const ThreadReport& t : outcome.threads) EXPECT_EQ(t.statistics.instructions, retired[t.index]) << t.index;
}

uint64_t instructions(const Outcome& outcome) {
  uint64_t sum = 0;
  for (const ThreadReport& t : outcome.threads) sum += t.statistics.instructions;
  return sum;
}

class CountMode : public testing::TestWithParam<const char*> {};

TEST_P(CountMode, EqualsTraceInstructionByInstruction) {
  const std::vector<std::string> command{std::string(COUNTED_PROGRAMS) + "/" + GetParam()};
  const Outcome trace = traced(command);
  for (const uint64_t interval : {uint64_t{0}, uint64_t{1000}, uint64_t{97}, uint64_t{7}}) {
    auto options = options_for(command, border::Mode::kCount);
    options.count_interval = interval;
    const Outcome count = counted(options);
    EXPECT_EQ(instructions(count), instructions(trace)) << interval;
    EXPECT_EQ(count.instructions, trace.instructions) << interval;
    EXPECT_EQ(count.total(), instructions(count)) << interval;
    if (interval != 0) expect_exact(count, interval);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CountMode, testing::Values("plain_loop", "branches", "faults", "faults_in_loops", "locked", "strings", "stack_operands", "replaced"),
                         [](const auto& name) { return std::string(name.param); });

TEST(CountModeThreads, EachHasItsOwnIntervals) {
  auto options = options_for({std::string(COUNTED_PROGRAMS) + "/threads"}, border::Mode::kCount);
  options.count_interval = 1000;
  const Outcome count = counted(options);
  ASSERT_EQ(count.threads.size(), 4u);
  for (uint32_t k = 1; k < 4; ++k) EXPECT_EQ(count.threads[k].statistics.instructions, 5000u * k + 7);
  EXPECT_EQ(count.total(), instructions(count));
  expect_exact(count, 1000);
}

// Small code cache, no links, short superblocks, forced safe points: other ways through the engine, the same numbers.
TEST(CountModeWays, DoNotMatter) {
  const std::vector<std::string> command{std::string(COUNTED_PROGRAMS) + "/plain_loop"};
  for (int way = 0; way < 4; ++way) {
    auto options = options_for(command, border::Mode::kCount);
    options.count_interval = 501;
    if (way == 0) options.link_superblocks = false;
    if (way == 1) options.max_superblock_instructions = 1;
    if (way == 2) options.force_safe_points = 2;
    if (way == 3) options.count_interval = 1;
    const Outcome count = counted(options);
    EXPECT_EQ(instructions(count), 12013u) << way;
    EXPECT_EQ(count.total(), 12013u) << way;
    expect_exact(count, options.count_interval);
  }
}

// What a fault finds counted ahead is no instruction: no interval ends there.
TEST(CountModeFaults, EndNoIntervalEarly) {
  const std::vector<std::string> command{std::string(COUNTED_PROGRAMS) + "/fault_amid_block"};
  const uint64_t length = instructions(traced(command));
  for (uint64_t interval = 2; interval <= 24; ++interval) {
    auto options = options_for(command, border::Mode::kCount);
    options.count_interval = interval;
    const Outcome count = counted(options);
    EXPECT_EQ(count.total(), length) << interval;
    EXPECT_EQ(instructions(count), length) << interval;
    expect_exact(count, interval);
  }
}

// Of a run that goes from mode to mode.
struct SwitchedSink {
  static constexpr bool kWantsReferences = false;
  uint32_t start_thread(const ThreadReport& thread) { return thread.index; }
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, ReferenceKind, uint64_t, uint32_t) {}
  void path(MergeThread&, const uint64_t* words, uint32_t, uint32_t instructions) {
    ++executions[static_cast<uint32_t>(words[0])];
    traced += instructions;
  }
  void event(MergeThread& thread, std::span<const uint64_t> words, const PathTable& paths) {
    using border::Event;
    const auto event = static_cast<Event>(static_cast<uint32_t>(words[0]));
    const auto payload = words.subspan(1);
    if (event == Event::kCut || event == Event::kPathCut)
      cuts.push_back({static_cast<uint32_t>(payload[0]), static_cast<uint32_t>(payload[1])});
    if (event == Event::kPathCounts)
      for (const PathCount& c : path_counts(paths.process(), payload)) executions[c.path] += c.executions;
    if (event == Event::kModeSwitch && thread.replay.handle == 0)
      switches.push_back({payload[1], 0, static_cast<border::Mode>(payload[0])});
  }
  std::map<uint32_t, uint64_t> executions;
  std::vector<PathCut> cuts;
  std::vector<border::ModeSwitch> switches;  // of the first thread, as they happened
  uint64_t traced = 0;
};

struct SwitchedOutcome {
  Outcome outcome;
  SwitchedSink sink;
};

// `period`: instructions of the first thread from one switch to the next.
SwitchedOutcome switched(const std::vector<std::string>& command, uint64_t period) {
  auto options = options_for(command, border::Mode::kCount);
  options.count_paths = true;
  options.ring_chunk_bytes = 8u << 10;
  options.ring_bytes = 64u << 10;
  for (uint32_t k = 1; k <= 40; ++k)
    options.mode_switches.push_back({k * period, 0, k % 2 == 1 ? border::Mode::kTrace : border::Mode::kCount});
  const auto target = std::make_unique<host::Target>(host::launch(options));
  const MappedProcess process(target->mapping());
  SwitchedOutcome result;
  Merge<SwitchedSink> merge(process, result.sink, {});
  result.outcome.threads = run(merge, *target);
  PathTable paths(process, 64);
  for (const ThreadReport& thread : result.outcome.threads)
    if (!thread.ended)
      for (const PathCount& c : left_in_counters(process, thread.slot)) result.sink.executions[c.path] += c.executions;
  auto& all = result.outcome.instructions;
  for (const auto& [path, executions] : result.sink.executions) add(all, paths, path, executions, paths.decode(path).instructions);
  for (const PathCut& c : result.sink.cuts) add(all, paths, (paths.decode(c.path), c.path), 1, c.instructions);
  return result;
}

class ModeSwitches : public testing::TestWithParam<const char*> {};

TEST_P(ModeSwitches, LoseNothing) {
  const std::vector<std::string> command{std::string(COUNTED_PROGRAMS) + "/" + GetParam()};
  const Outcome trace = traced(command);
  const uint64_t length = instructions(trace);
  for (const uint64_t period : {length / 7 + 1, length / 3, uint64_t{13}}) {
    const auto [outcome, sink] = switched(command, period);
    EXPECT_EQ(instructions(outcome), length) << period;
    EXPECT_EQ(outcome.instructions, trace.instructions) << period;
    ASSERT_FALSE(sink.switches.empty()) << period;
    EXPECT_GT(sink.traced, 0u);
    uint64_t last = 0;
    for (size_t k = 0; k < sink.switches.size(); ++k) {
      const border::ModeSwitch& s = sink.switches[k];
      EXPECT_EQ(s.mode, k % 2 == 0 ? border::Mode::kTrace : border::Mode::kCount);
      if (s.mode == border::Mode::kTrace) {
        EXPECT_EQ(s.at % (2 * period), period) << "to the instruction";
      }
      EXPECT_TRUE(s.at > last);
      last = s.at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ModeSwitches, testing::Values("plain_loop", "branches", "faults", "faults_in_loops", "locked", "strings", "stack_operands", "replaced"),
                         [](const auto& name) { return std::string(name.param); });

// The other threads change with the first, wherever they are.
TEST(ModeSwitchThreads, LoseNothing) {
  const std::vector<std::string> command{std::string(COUNTED_PROGRAMS) + "/threads"};
  const auto [outcome, sink] = switched(command, 50);
  ASSERT_EQ(outcome.threads.size(), 4u);
  for (uint32_t k = 1; k < 4; ++k) EXPECT_EQ(outcome.threads[k].statistics.instructions, 5000u * k + 7);
  EXPECT_EQ(outcome.total(), instructions(outcome));
}

TEST(ModeSwitchOptions, AreBounded) {
  auto options = options_for({"/bin/true"}, border::Mode::kCount);
  options.mode_switches.resize(border::kMaxModeSwitches + 1);
  EXPECT_THROW(host::launch(options), UserError);
}

}  // namespace
}  // namespace simrun::channel
