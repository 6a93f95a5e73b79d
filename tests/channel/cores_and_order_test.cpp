// Threads on cores, and the recorded order.
#include <sys/syscall.h>

#include <functional>
#include <thread>

#include "instr/channel/progress_sampler.h"
#include "tests/channel/merge_fixture.h"

namespace simrun::channel {
namespace {

// Three threads on two cores: the third gets a core when a slice is over.
TEST_F(MergeTest, ThreadsTakeTurnsOnCores) {
  options_.cores = 2, options_.time_slice = 20;
  Producer a(target_, 0, 1), b(target_, 1, 2), c(target_, 2, 3);
  for (Producer* p : {&a, &b, &c}) p->start();
  for (int i = 0; i < 4; ++i) step(a, 0), step(b, 1), step(c, 2);
  for (Producer* p : {&a, &b, &c}) p->end();
  settle(true);
  EXPECT_EQ(order(), "ABABACACBCBC");
  const std::vector<CoreReport> cores = merge().core_reports();
  ASSERT_EQ(cores.size(), 2u);
  EXPECT_EQ(cores[0].instructions + cores[1].instructions, 120u);
  EXPECT_GE(cores[0].switches, 2u);
  EXPECT_EQ(report(0).statistics.instructions, 40u);
  EXPECT_EQ(report(2).end_clock, 60u);  // 120 instructions on two cores
}

// With enough cores every thread has its own, also when it blocks and comes back.
TEST_F(MergeTest, ThreadsKeepTheirCores) {
  options_.cores = 4, options_.time_slice = 10;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  for (Producer* p : {&a, &b}) p->start();
  for (int i = 0; i < 5; ++i)
    step(a, 0), step(b, 1), a.event(Event::kSyscallEnter, {0, 1}), a.event(Event::kSyscallExit, {0, 0});
  settle(true);
  for (Producer* p : {&a, &b}) p->end();
  settle(true);
  EXPECT_EQ(report(0).core, 0u);
  EXPECT_EQ(report(1).core, 1u);
  EXPECT_EQ(report(0).migrations + report(1).migrations, 0u);
  for (const CoreReport& core : merge().core_reports()) EXPECT_EQ(core.switches, 0u);
}

// A thread that blocks leaves its core to the one that waits.
TEST_F(MergeTest, PinnedThreadsShareTheirCoreThoughOthersAreFree) {
  options_.cores = 4, options_.time_slice = 20, options_.pins = {3, 1};
  Producer a(target_, 0, 1), b(target_, 1, 2), c(target_, 2, 3);
  a.start();
  a.event(Event::kThreadCreate, {1}), a.event(Event::kThreadCreate, {2});
  b.start(0), c.start(0);
  for (int i = 0; i < 4; ++i) step(a, 0), step(b, 1), step(c, 2);
  a.end(), b.end(), c.end();
  settle(false);
  EXPECT_EQ(report(0).core, 3u);
  EXPECT_EQ(report(1).core, 1u);
  EXPECT_EQ(report(2).core, 3u);  // the third thread begins the list again
  const auto cores = merge().core_reports();
  EXPECT_EQ(cores[3].instructions, 80u);
  EXPECT_EQ(cores[1].instructions, 40u);
  EXPECT_EQ(cores[0].instructions + cores[2].instructions, 0u);
  EXPECT_GE(cores[3].switches, 2u);
}

// The order in which words were written, as far as looks tell it; a runnable thread without words is not waited for.
TEST_F(MergeTest, RecordedOrderIsThatOfTheLooks) {
  ProgressSampler sampler(std::chrono::microseconds(0));
  options_.sampler = &sampler;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  a.start();
  a.event(Event::kThreadCreate, {1});
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "A");
  b.start(0);
  for (int i = 0; i < 3; ++i) step(b, 1);
  sampler.sample();
  step(a, 0), step(a, 0);
  sampler.sample();
  step(b, 1);
  sampler.sample();
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "ABBBAABA");
  a.end(), b.end();
  settle(false);
  EXPECT_TRUE(report(0).ended && report(1).ended);
  EXPECT_EQ(merge().advance(false), Status::kFinished);
}

// Over many chunks, with a thread that samples: every word arrives, and in its thread's order.
TEST_F(MergeTest, RecordedOrderLosesNothing) {
  ProgressSampler sampler(std::chrono::microseconds(50));
  options_.sampler = &sampler, options_.quantum = 1000;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  a.start();
  a.event(Event::kThreadCreate, {1});
  b.start(0);
  constexpr int kSteps = 20'000;
  const auto write = [&](Producer& p, uint32_t t) {
    for (int i = 0; i < kSteps; ++i) step(p, t);
    p.end();
  };
  std::thread first(write, std::ref(a), 0), second(write, std::ref(b), 1);
  Status status = Status::kIdle;
  while (status != Status::kFinished && report_count() < 2) status = merge().advance(true);
  first.join(), second.join();
  settle(false);
  EXPECT_EQ(report(0).statistics.instructions, 10u * kSteps);
  EXPECT_EQ(report(1).statistics.instructions, 10u * kSteps);
}

// Who polls has its slice used up by its calls, not by the few instructions between them.
TEST_F(MergeTest, CallsUseUpASlice) {
  options_.cores = 1, options_.time_slice = 3500;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  for (Producer* p : {&a, &b}) p->start();
  for (int i = 0; i < 8; ++i) step(a, 0), a.event(Event::kSyscallEnter, {0, 0}), a.event(Event::kSyscallExit, {0, 0});
  for (int i = 0; i < 8; ++i) step(b, 1);
  for (Producer* p : {&a, &b}) p->end();
  settle(true);
  EXPECT_EQ(order(), "AAAAABBBBBBBBAAA");  // four calls, and what was left of the turn
}

// Who does little but yield waits for others: how often it has asked by now does not let them go on.
TEST_F(MergeTest, YieldsInHandTakeNoTime) {
  options_.quantum = 100;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  for (Producer* p : {&a, &b}) p->start();
  for (int i = 0; i < 30; ++i) step(a, 0), a.event(Event::kSyscallEnter, {SYS_sched_yield, 0}), a.event(Event::kSyscallExit, {0, 0});
  for (int i = 0; i < 20; ++i) step(a, 0), step(b, 1);
  for (Producer* p : {&a, &b}) p->end();
  settle(true);
  const std::string ten_a(10, 'A'), ten_b(10, 'B');
  EXPECT_EQ(order(), ten_a + ten_a + ten_a + ten_a + ten_b + ten_b + ten_a);
}

// It is waited for after each turn of the others, which get longer.
TEST_F(MergeTest, WhoYieldsIsWaitedFor) {
  options_.stall_time_out = std::chrono::seconds(10);
  Producer a(target_, 0, 1), b(target_, 1, 2);
  for (Producer* p : {&a, &b}) p->start();
  for (int i = 0; i < 12; ++i) step(b, 1);
  std::string expected = "A";
  for (const char* turns : {"BB", "BBB", "BBBBB"}) {   // one as ever, and 1, 2, 4
    step(a, 0), a.event(Event::kSyscallEnter, {SYS_sched_yield, 0});
    settle(true);
    EXPECT_EQ(order(), expected += turns);
    a.event(Event::kSyscallExit, {0, 0});
    expected += 'A';
  }
  for (int i = 0; i < 200; ++i) step(a, 0);   // it works
  for (Producer* p : {&a, &b}) p->end();
  settle(true);
  EXPECT_EQ(order().substr(0, 20), expected + "BABAAA");
}

// Of a core that others wait for it lets go.
TEST_F(MergeTest, WhoYieldsLeavesItsCore) {
  options_.cores = 1, options_.time_slice = 1000;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  for (Producer* p : {&a, &b}) p->start();
  step(a, 0), a.event(Event::kSyscallEnter, {SYS_sched_yield, 0}), a.event(Event::kSyscallExit, {0, 0}), step(a, 0);
  step(b, 1), b.event(Event::kSyscallEnter, {SYS_sched_yield, 0}), b.event(Event::kSyscallExit, {0, 0}), step(b, 1);
  for (Producer* p : {&a, &b}) p->end();
  settle(true);
  EXPECT_EQ(order(), "ABAB");
}

TEST_F(MergeTest, BlockedThreadLeavesItsCore) {
  options_.cores = 1, options_.time_slice = 1000;
  Producer a(target_, 0, 1), b(target_, 1, 2);
  for (Producer* p : {&a, &b}) p->start();
  step(a, 0), a.event(Event::kSyscallEnter, {0, 1});
  step(b, 1), step(b, 1);
  settle(true);
  EXPECT_EQ(order(), "ABB");
  a.event(Event::kSyscallExit, {0, 0}), step(a, 0), step(b, 1);
  settle(true);
  for (Producer* p : {&a, &b}) p->end();
  settle(true);
  EXPECT_EQ(sink_.all.size(), 5u);
  EXPECT_EQ(merge().core_reports()[0].instructions, 50u);
}

}  // namespace
}  // namespace simrun::channel
