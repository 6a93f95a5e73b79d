#include "instr/channel/merge.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "instr/channel/counting_sink.h"
#include "instr/channel/doorbell.h"
#include "tests/channel/merge_fixture.h"

namespace simrun::channel {
namespace {

using namespace border;

TEST_F(MergeTest, OneThreadFromStartToEnd) {
  Producer a(target_, 0, 41);
  a.start();
  step(a, 0), step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "AA");
  a.end();
  settle(true);
  const ThreadReport r = report(0);
  EXPECT_TRUE(r.ended);
  EXPECT_EQ(r.tid, 41u);
  EXPECT_EQ(r.statistics.instructions, 20u);
  EXPECT_EQ(r.statistics.loads, 2u);
  EXPECT_EQ(r.statistics.fetch_lines, 1u);  // 40 bytes from 0x100000, twice over: it never leaves the line
  EXPECT_EQ(r.statistics.words, 4u + 4u + 1u);
  EXPECT_EQ(target_.slot(0).ring.state.load(), static_cast<uint32_t>(ThreadState::kFree));
  EXPECT_EQ(merge().advance(false), Status::kFinished);
}

TEST_F(MergeTest, SmallestClockFirstWhateverTheArrival) {
  Producer a(target_, 0, 1), b(target_, 1, 2);
  a.start();
  a.event(Event::kThreadCreate, {1});
  b.start(0);
  for (int i = 0; i < 4; ++i) step(a, 0);
  settle(true);
  // A does not run ahead of B by more than a quantum: B is runnable and its words have not come.
  EXPECT_EQ(order(), "A");
  for (int i = 0; i < 2; ++i) step(b, 1);
  settle(true);
  EXPECT_EQ(order(), "ABABA");
  for (int i = 0; i < 2; ++i) step(b, 1);
  settle(true);
  EXPECT_EQ(order(), "ABABABAB");
}

// The same streams cut in any way give the same order.
TEST_F(MergeTest, OrderDoesNotDependOnWhenWordsArrive) {
  options_.quantum = 35;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  a.start();
  a.event(Event::kThreadCreate, {1});
  b.start(0);
  uint32_t random = 12345;
  int left_a = 60, left_b = 60;
  while (left_a + left_b > 0) {
    random = random * 1664525 + 1013904223;
    Producer& who = (random >> 16 & 1) != 0 ? a : b;
    int& left = &who == &a ? left_a : left_b;
    for (uint32_t n = random >> 20 & 7; n > 0 && left > 0; --n, --left) step(who, &who == &a ? 0 : 1);
    merge().advance(true);
  }
  a.end(), b.end();
  settle(false);
  std::string expected;
  for (int i = 0; i < 15; ++i) expected += "AAAABBBB";
  EXPECT_EQ(order(), expected);
}

TEST_F(MergeTest, ChildIsHeldUntilItsParentCreatesIt) {
  Producer a(target_, 0, 1), b(target_, 1, 2);
  b.start(0);
  step(b, 1);
  a.start();
  settle(true);
  EXPECT_EQ(order(), "");
  step(a, 0);
  a.event(Event::kThreadCreate, {1});
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "AAB");  // equal clocks: the elder first
  EXPECT_EQ(report(1).start_clock, 10u);
  EXPECT_EQ(report(1).tid, 2u);
}

TEST_F(MergeTest, FailedCreationLeavesNoThread) {
  Producer a(target_, 0, 1);
  a.start();
  target_.slot(1).ring.state = static_cast<uint32_t>(ThreadState::kStarting);
  a.event(Event::kThreadCreate, {1});
  a.event(Event::kThreadCreateFailed, {1});
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "A");
  EXPECT_EQ(merge().reports().size(), 1u);
  EXPECT_EQ(target_.slot(1).ring.state.load(), static_cast<uint32_t>(ThreadState::kStarting)) << "its parent still writes there";
  Producer b(target_, 1, 0);
  b.start(0);
  b.end();
  step(a, 0);
  settle(true);
  EXPECT_EQ(merge().reports().size(), 1u);
  EXPECT_EQ(target_.slot(1).ring.state.load(), static_cast<uint32_t>(ThreadState::kFree));
}

TEST_F(MergeTest, BlockingCallLetsOthersPassAndReturnsToTheirClock) {
  Producer a(target_, 0, 1), b(target_, 1, 2);
  a.start();
  a.event(Event::kThreadCreate, {1});
  b.start(0);
  step(a, 0);
  a.event(Event::kSyscallEnter, {0, 1});
  a.state(ThreadState::kInKernel);
  for (int i = 0; i < 5; ++i) step(b, 1);
  settle(true);
  EXPECT_EQ(order(), "ABBBBB");
  a.state(ThreadState::kRunning);
  a.event(Event::kSyscallExit, {0, 0});
  step(a, 0), step(a, 0);
  step(b, 1);
  settle(true);
  EXPECT_EQ(order(), "ABBBBBBAA");  // B's next turn had begun
  EXPECT_EQ(report(0).statistics.syscalls, 1u);
  EXPECT_EQ(report(0).end_clock, 70u);  // jumped from 10 to B's 50
  EXPECT_EQ(report(0).statistics.instructions, 30u);
}

TEST_F(MergeTest, StoppedThreadIsSetAsideAndCounted) {
  Producer a(target_, 0, 1), b(target_, 1, 1u << 30);  // no thread of this machine
  a.start();
  a.event(Event::kThreadCreate, {1});
  b.start(0);
  step(a, 0), step(a, 0);
  const auto start = std::chrono::steady_clock::now();
  while (order() != "AA" && std::chrono::steady_clock::now() - start < std::chrono::seconds(10)) merge().advance(true);
  EXPECT_EQ(order(), "AA");
  EXPECT_GE(std::chrono::steady_clock::now() - start, options_.stall_time_out);
  step(b, 1);
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "AAAB");
  EXPECT_EQ(report(1).statistics.stalls, 1u);
  EXPECT_EQ(report(1).end_clock, 30u);
}

// Not a thread that only waits for a processor: this one runs.
TEST_F(MergeTest, ThreadThatIsMerelySlowIsWaitedFor) {
  Producer a(target_, 0, 1), b(target_, 1, static_cast<uint32_t>(gettid()));
  a.start();
  a.event(Event::kThreadCreate, {1});
  b.start(0);
  step(a, 0), step(a, 0);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < 5 * options_.stall_time_out) merge().advance(true);
  EXPECT_EQ(order(), "A");
  step(b, 1);
  settle(true);
  EXPECT_EQ(order(), "ABA");
  EXPECT_EQ(report(1).statistics.stalls, 0u);
}

// What it has copied into its ring of the chunk that it is writing.
TEST_F(MergeTest, ChunkOfAThreadThatRunsIsRead) {
  Producer a(target_, 0, 1);
  a.start();
  a.state(ThreadState::kRunning);
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "A");
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "AA");
}

TEST_F(MergeTest, ChunkOfADeadThreadIsRead) {
  Producer a(target_, 0, 1);
  a.start();
  a.state(ThreadState::kRunning);
  settle(true);
  step(a, 0);
  settle(false);
  EXPECT_EQ(order(), "A");
}

TEST_F(MergeTest, DeadTargetGivesWhatIsThere) {
  Producer a(target_, 0, 1), b(target_, 1, 2), c(target_, 2, 3);
  a.start();
  a.event(Event::kThreadCreate, {1});
  b.start(0);
  c.start(1);
  step(c, 2);  // its kThreadCreate is lost with b
  step(a, 0), step(b, 1), step(a, 0);
  b.put({path_[1]});  // a path without its address word
  settle(false);
  EXPECT_EQ(order(), "ABAC");
  EXPECT_EQ(report(1).statistics.truncated_words, 1u);
  EXPECT_FALSE(report(1).ended);
  EXPECT_EQ(merge().advance(false), Status::kFinished);
}

// The program has ended, a child of it goes on, and nobody reads what it does.
TEST_F(MergeTest, ProcessThatIsReadNoLongerKeepsItsRings) {
  Producer a(target_, 0, 1);
  a.start();
  step(a, 0);
  settle(true);
  const uint64_t written = target_.slot(0).ring.written.load();
  settle(false);
  EXPECT_EQ(merge().advance(false), Status::kFinished);
  EXPECT_EQ(target_.slot(0).ring.written.load(), written);
  EXPECT_EQ(target_.slot(0).ring.state.load(), static_cast<uint32_t>(ThreadState::kRunning));
}

// As at attach, when threads come to the engine one after another: the first blocks without saying so.
TEST_F(MergeTest, RootThatComesLateIsFoundWhileAnotherStalls) {
  Producer a(target_, 0, 1), b(target_, 1, 2);
  a.start();
  step(a, 0);
  settle(true);
  b.start();
  step(b, 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (order() != "AB" && std::chrono::steady_clock::now() < end) settle(true);
  EXPECT_EQ(order(), "AB");
}

// Two threads whose creation nobody tells any more, the second made by the first, in a lower slot.
TEST_F(MergeTest, OrphansComeInTheOrderOfTheirCreation) {
  Producer a(target_, 0, 1), b(target_, 2, 2), c(target_, 1, 3);
  a.start();
  step(a, 0);
  b.start(0);
  step(b, 2);
  b.event(Event::kThreadCreate, {1});
  step(b, 2);
  c.start(2);
  step(c, 1);
  settle(false);
  EXPECT_EQ(order(), "ACCB");
  EXPECT_EQ(merge().advance(false), Status::kFinished);
}

TEST_F(MergeTest, SlotIsUsedAgain) {
  Producer a(target_, 0, 1);
  a.start();
  for (uint32_t round = 0; round < 3; ++round) {
    a.event(Event::kThreadCreate, {1});
    Producer b(target_, 1, 10 + round);
    b.start(0);
    for (int i = 0; i < 700; ++i) step(b, 1);
    b.end();
    for (int i = 0; i < 701; ++i) step(a, 0);
    settle(true);
    ASSERT_EQ(target_.slot(1).ring.state.load(), static_cast<uint32_t>(ThreadState::kFree));
    EXPECT_EQ(report(round + 1).tid, 10 + round);
    EXPECT_EQ(report(round + 1).statistics.instructions, 7000u);
  }
}

TEST_F(MergeTest, ExecEndsTheStreamsUnlessItFails) {
  Producer a(target_, 0, 1);
  a.start();
  a.event(Event::kExec);
  settle(true);
  EXPECT_EQ(merge().events().execs, 1u);
  EXPECT_FALSE(merge().waits_for_runnable());
  a.event(Event::kExecFailed);
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "A");
  EXPECT_EQ(merge().events().execs, 0u);
}

TEST_F(MergeTest, CutCountsWhatRetired) {
  const auto load = address_operand(OperandKind::kLoad, 1, 8);
  const auto store = address_operand(OperandKind::kStore, 2, 8);
  const uint32_t id = target_.add_path(0x1000, {{4, {load}, 0}, {4, {store}, 0}, {4, {}, 0}}, 2);
  Producer a(target_, 0, 1);
  a.start();
  a.event(Event::kCut, {id, 1, 0, 0x7000});
  settle(true);
  EXPECT_EQ(sink_.all, (std::vector{Recorded{0, ReferenceKind::kLoad, 0x7000, 8}}));
  EXPECT_EQ(report(0).statistics.instructions, 1u);
  EXPECT_EQ(report(0).statistics.cuts, 1u);
}

TEST_F(MergeTest, CutStringGivesTheIterationsThatWereDone) {
  OperandDescriptor o = address_operand(OperandKind::kStore, 1, 4, 0, 1);
  o.form = OperandForm::kRepeatString;
  o.word_c = 2;
  const uint32_t id = target_.add_path(0x1000, {{3, {o}, kRepeats}}, 2);
  Producer a(target_, 0, 1);
  a.start();
  a.event(Event::kCut, {id, 0, 2, 0x7ff8});
  settle(true);
  EXPECT_EQ(sink_.all, (std::vector{Recorded{0, ReferenceKind::kStore, 0x7ff8, 4},
                                    Recorded{0, ReferenceKind::kStore, 0x7ffc, 4}}));
  EXPECT_EQ(report(0).statistics.instructions, 0u);
  EXPECT_EQ(report(0).statistics.string_iterations, 2u);
}

TEST_F(MergeTest, FetchesDoNotDependOnHowSuperblocksWereCut) {
  sink_.fetches = true;
  const uint32_t whole = target_.add_plain(0x5000, 40);
  const uint32_t first = target_.add_plain(0x5000, 7), rest = target_.add_plain(0x5000 + 28, 33);
  Producer a(target_, 0, 1);
  a.start();
  a.put({whole});
  settle(true);
  const std::vector<Recorded> once = sink_.all;
  EXPECT_EQ(once.size(), 3u);
  sink_.all.clear();
  a.put({first}), a.put({rest});
  settle(true);
  EXPECT_EQ(sink_.all, once);
}

TEST_F(MergeTest, GarbageIsAnErrorThatNamesTheThread) {
  const auto message = [&](std::initializer_list<uint64_t> words) {
    FakeTarget target;
    target.add_plain(0x1000, 1);
    Producer a(target, 0, 4711);
    a.start();
    a.put(words);
    MappedProcess process(target.mapping());
    CountingSink sink;
    Merge<CountingSink> merge(process, sink, {});
    try {
      while (merge.advance(false) != Status::kFinished) {
      }
    } catch (const StreamError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({kFirstPath}), "");
  EXPECT_NE(message({kFirstPath + 1}).find("tid 4711"), std::string::npos);
  EXPECT_NE(message({0xffffffffffffffff}), "");
  EXPECT_NE(message({99}), "");
  EXPECT_NE(message({event_word(Event::kThreadCreate, 1), 1ull << 40}), "");
  EXPECT_NE(message({event_word(Event::kThreadCreate, 0)}), "");
  EXPECT_NE(message({event_word(Event::kThreadCreate, 1), 0}), "");
  EXPECT_NE(message({event_word(Event::kCut, 3), 1, 1, 1}), "");
  EXPECT_NE(message({event_word(Event::kThreadCreateFailed, 1), 5}), "");
}

// Random words never crash or hang the reader: an error or an end.
TEST(MergeFuzz, RandomWordsEndInAnErrorOrAnEnd) {
  uint64_t random = 88172645463325252;
  const auto next = [&] { return random ^= random << 13, random ^= random >> 7, random ^= random << 17; };
  for (int round = 0; round < 300; ++round) {
    FakeTarget target;
    const auto load = address_operand(OperandKind::kLoad, 1, 8);
    for (int i = 0; i < 3; ++i) target.add_path(next(), {{4, {load}, 0}, {3, {}, 0}}, 1);
    for (int byte = 0; byte < round % 4; ++byte)
      reinterpret_cast<char*>(&target.operand(0))[next() % 32] = static_cast<char>(next());
    Producer a(target, 0, 1);
    a.start();
    for (int i = 0; i < 200; ++i) {
      const uint64_t choice = next() % 20;
      a.put({choice < 14 ? kFirstPath + next() % 4 : choice < 19 ? next() % 16 | (next() % 4) << 32 : next()});
    }
    MappedProcess process(target.mapping());
    RecordingSink sink;
    Merge<RecordingSink> merge(process, sink, {});
    try {
      for (int i = 0; i < 1000 && merge.advance(false) != Status::kFinished; ++i) {
      }
    } catch (const StreamError&) {
    }
  }
}

// A sink whose references others make gets the words, each thread's as it was before them; only then it hears how many
// instructions that was, for it may ask what they have come to.
struct LaterSink {
  static constexpr bool kWantsReferences = true;
  uint32_t start_thread(const ThreadReport& thread) { return thread.index; }
  void fetch(uint32_t, uint64_t) { ADD_FAILURE(); }
  void data(uint32_t, ReferenceKind, uint64_t, uint32_t) { ADD_FAILURE(); }
  bool makes_later(uint32_t) { return true; }
  void make_later(DecodedPaths&, const ReplayState& before, std::span<const uint64_t> words) {
    calls.push_back("make " + std::to_string(words.size()) + (before.last_line == ~uint64_t{0} ? " first" : ""));
  }
  void words(MergeThread&, const uint64_t*, const uint64_t*, uint64_t paths, uint64_t instructions) {
    calls.push_back("words " + std::to_string(paths) + " " + std::to_string(instructions));
  }
  void lose_paths(uint32_t process) { calls.push_back("lose " + std::to_string(process)); }
  std::vector<std::string> calls;
};

TEST_F(MergeTest, PathsForLater) {
  LaterSink sink;
  options_.quantum = 1000;
  Producer a(target_, 0, 41);
  a.start();
  {
    Merge<LaterSink> merge(process_, sink, options_);
    for (int k = 0; k < 3; ++k) step(a, 0);
    while (merge.advance(true) == Status::kAdvanced) continue;
    step(a, 0);
    while (merge.advance(true) == Status::kAdvanced) continue;
    EXPECT_EQ(merge.reports().at(0).statistics.loads, 4u);
  }
  const std::vector<std::string> expected = {"make 6 first", "words 3 30", "make 2", "words 1 10", "lose 0"};
  EXPECT_EQ(sink.calls, expected);
}

// Real threads, small rings, both sides sleeping: everything arrives, in the one order.
TEST(MergeThreads, RealProducersInTheOneOrder) {
  constexpr uint32_t kThreads = 4;
  constexpr int kSteps = 30'000;
  const auto run = [&] {
    FakeTarget target(8192, 2);
    std::vector<uint32_t> path;
    for (uint64_t t = 0; t < kThreads; ++t) {
      std::vector<FakeInstruction> some(5 + t);
      some[0].operands.push_back(address_operand(OperandKind::kStore, 1, 8));
      path.push_back(target.add_path(0x1000 * (t + 1), some, 1));
    }
    std::vector<std::thread> threads;
    const auto work = [&](uint32_t t) {
      Producer producer(target, t, 100 + t);
      producer.start(t == 0 ? ~0u : 0);
      if (t == 0)
        for (uint32_t child = 1; child < kThreads; ++child) producer.event(Event::kThreadCreate, {child});
      for (int i = 0; i < kSteps; ++i) producer.put({path[t], uint64_t(i) * 8});
      producer.end();
    };
    for (uint32_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    MappedProcess process(target.mapping());
    RecordingSink sink;
    MergeOptions options;
    options.quantum = 100;
    options.stall_time_out = std::chrono::seconds(60);
    Merge<RecordingSink> merge(process, sink, options);
    Doorbell bell(target.header().consumer_sleeps);
    const auto ended = [&] {
      const auto reports = merge.reports();
      return reports.size() == kThreads &&
             std::all_of(reports.begin(), reports.end(), [](const auto& r) { return r.ended; });
    };
    while (!ended()) {
      if (merge.advance(true) != Status::kIdle) continue;
      bell.arm();
      if (merge.advance(true) == Status::kIdle && !ended()) bell.sleep(std::chrono::milliseconds(5));
      bell.disarm();
    }
    for (std::thread& thread : threads) thread.join();
    return sink.all;
  };
  const auto first = run();
  EXPECT_EQ(
      std::count_if(first.begin(), first.end(), [](const Recorded& r) { return r.kind == ReferenceKind::kStore; }),
      kThreads * kSteps);
  EXPECT_TRUE(run() == first);
}

}  // namespace
}  // namespace simrun::channel
