// Who waited for another thread goes on behind what that one had done when it woke it, however far that is ahead of the reader. (It comes back at
// the other's clock; A's turn is over one step later.)
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/channel/merge_fixture.h"

namespace simrun::channel {
namespace {

class WakeOrderTest : public MergeTest {
 protected:
  WakeOrderTest() {
    a_.start();
    a_.event(Event::kThreadCreate, {1});
    b_.start(0);
    step(a_, 0);
  }
  static void waits(Producer& thread, uint64_t result, uint64_t value = 0) {
    thread.event(Event::kSyscallEnter, {SYS_futex, 1, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0x5000, value});
    thread.event(Event::kSyscallExit, {SYS_futex, result});
  }
  static void wakes(Producer& thread, uint64_t result, uint64_t most = 1) {
    thread.event(Event::kSyscallEnter, {SYS_futex, 0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 0x5000, most});
    thread.event(Event::kSyscallExit, {SYS_futex, result});
  }
  // By a pipe or the like.
  static void gives(Producer& thread, uint64_t object, uint64_t time, uint64_t units = border::HandOver::kUncounted, uint64_t less = 0) {
    thread.event(Event::kSyscallEnter, {SYS_write, 0});
    thread.hand_over(object, time, units);
    if (less != 0) thread.hand_over(object | border::HandOver::kGaveLess, time, less);
    thread.event(Event::kSyscallExit, {SYS_write, 1});
  }
  static void takes(Producer& thread, uint64_t object, uint64_t back, uint64_t result = 1, bool waited = false, uint64_t units = border::HandOver::kUncounted) {
    thread.event(Event::kSyscallEnter, {SYS_read, 1});
    thread.hand_over(object | border::HandOver::kTook | (waited ? border::HandOver::kWaited : 0), back, units);
    thread.event(Event::kSyscallExit, {SYS_read, result});
  }
  // It has taken and given back before.
  static void has_had(Producer& thread, uint64_t object, int times) {
    for (int k = 0; k < times; ++k) thread.hand_over(object | border::HandOver::kTook, 1), thread.hand_over(object, 2);
  }
  void steps(Producer& thread, uint32_t t, int count) {
    for (int i = 0; i < count; ++i) step(thread, t);
  }

  // B takes so much of what A gives twice: something, but for what is not taken up, and 1 more.
  void take_of_two(uint64_t taken, uint64_t given, uint64_t less) {
    takes(b_, 7, 250, 1, false, taken), steps(b_, 1, 2);
    steps(a_, 0, 2), gives(a_, 7, 150, given, less), steps(a_, 0, 2), gives(a_, 7, 200, 1), steps(a_, 0, 6), a_.end();
    settle(true);
  }

  // A does, and goes on; `sleeper` is C.
  void wake_who_sleeps(Producer& sleeper) {
    a_.event(Event::kThreadCreate, {2}), sleeper.start(0), b_.end();
    sleeper.event(Event::kSyscallEnter, {SYS_futex, 1, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0x5000, 0});
    sleeper.state(border::ThreadState::kInKernel);
    settle(true);
    step(a_, 0), wakes(a_, 1), steps(a_, 0, 9), a_.end();
    settle(true);
  }

  Producer a_{target_, 0, 1}, b_{target_, 1, 2};
};

TEST_F(WakeOrderTest, BehindTheCallThatWokeIt) {
  waits(b_, 0), steps(b_, 1, 3);
  steps(a_, 0, 5), wakes(a_, 1), steps(a_, 0, 3), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAAAAA" "A" "BABAB");
  EXPECT_EQ(report(1).end_clock, 90u);  // from A's 60 on
}

TEST_F(WakeOrderTest, OneForEachThatWasWoken) {
  waits(b_, 0), step(b_, 1), waits(b_, 0), step(b_, 1);
  steps(a_, 0, 2), wakes(a_, 1), steps(a_, 0, 4), wakes(a_, 0), steps(a_, 0, 2), wakes(a_, 1), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAA" "A" "B" "AAAAA" "B");
}

// A barrier: A wakes both others twice. When its first call is read C, which has more to do, has not been read as far as its wait.
TEST_F(WakeOrderTest, EachOnceByOneCall) {
  Producer c(target_, 2, 3);
  a_.event(Event::kThreadCreate, {2}), c.start(0);
  waits(b_, 0), step(b_, 1), waits(b_, 0), steps(b_, 1, 2), b_.end();
  steps(c, 2, 4), waits(c, 0), step(c, 2), waits(c, 0), steps(c, 2, 2), c.end();
  step(a_, 0), wakes(a_, 2, 2), steps(a_, 0, 8), wakes(a_, 2, 2), steps(a_, 0, 2), a_.end();
  settle(true);
  const std::string all = order();
  const size_t second_wake = all.size() - 6;   // A has two steps behind it, as the others
  EXPECT_EQ(std::count(all.begin(), all.begin() + static_cast<long>(second_wake), 'A'), 10) << all;
  EXPECT_EQ(std::count(all.begin() + static_cast<long>(second_wake), all.end(), 'B'), 2) << all;
  EXPECT_EQ(std::count(all.begin() + static_cast<long>(second_wake), all.end(), 'C'), 2) << all;
}

// The host may let it run when the one that has woken it has done much more.
TEST_F(WakeOrderTest, WhoeverWasWokenIsRunnable) {
  Producer c(target_, 2, static_cast<uint32_t>(getpid()));   // wants a processor, as /proc says
  wake_who_sleeps(c);
  EXPECT_LT(order().size(), 6u) << order();
  c.event(Event::kSyscallExit, {SYS_futex, 0}), steps(c, 2, 3), c.end();
  settle(true);
  EXPECT_EQ(order().find('C'), 3u) << order();
}

// Another one that has not been read as far as its wait.
TEST_F(WakeOrderTest, WhoeverSleepsOnWasNotWoken) {
  Producer c(target_, 2, 2);   // a thread of the kernel's
  wake_who_sleeps(c);
  EXPECT_EQ(order(), "AAAAAAAAAAA");
}

TEST_F(WakeOrderTest, NobodyByItsOwnCall) {
  step(b_, 1), wakes(b_, 1), waits(b_, 0), steps(b_, 1, 2), b_.end();
  steps(a_, 0, 6), wakes(a_, 1), step(a_, 0), a_.end();
  settle(true);
  EXPECT_EQ(order().substr(order().size() - 3), "ABB");
}

// What woke it is not in the streams: behind all that the others had written when it came back, and not behind what they wrote since.
TEST_F(WakeOrderTest, ElseBehindWhatWasThere) {
  waits(b_, 0), steps(b_, 1, 2);
  steps(a_, 0, 3);
  settle(true);
  steps(a_, 0, 3), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAAA" "A" "BABA");
}

TEST_F(WakeOrderTest, WhoeverJoinsBehindTheOthersEnd) {
  waits(b_, 0, 1), step(b_, 1);
  steps(a_, 0, 3), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAAAB");
}

TEST_F(WakeOrderTest, NotWhoWasNotWoken) {
  waits(b_, static_cast<uint64_t>(-EAGAIN)), steps(b_, 1, 3);
  steps(a_, 0, 3), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AABABAB");
}

// D is behind C, which is behind B, which is behind A, which runs: nobody is let go because those before it wait.
TEST_F(WakeOrderTest, WhoeverIsBehindOneThatGoesOnWaits) {
  Producer c(target_, 2, 3), d(target_, 3, 4);
  a_.event(Event::kThreadCreate, {2}), a_.event(Event::kThreadCreate, {3}), c.start(0), d.start(0);
  takes(d, 9, 400), steps(d, 3, 2), d.end();
  takes(c, 8, 300), step(c, 2), gives(c, 9, 350), c.end();
  takes(b_, 7, 200), step(b_, 1), gives(b_, 8, 250), b_.end();
  steps(a_, 0, 6), gives(a_, 7, 100), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAAAAAA" "BCDD");
}

TEST_F(WakeOrderTest, TwoThatWaitForEachOtherGoOn) {
  waits(a_, 0), steps(a_, 0, 2), a_.end();
  waits(b_, 0), steps(b_, 1, 2), b_.end();
  settle(true);
  EXPECT_EQ(order().size(), 5u);
  EXPECT_EQ(report_count(), 2u);
}

// The last that was given before it was back, and none of what was given since, though all is written already.
TEST_F(WakeOrderTest, BehindWhatWasGivenBeforeItWasBack) {
  takes(b_, 7, 250), steps(b_, 1, 2);
  steps(a_, 0, 2), gives(a_, 7, 150), steps(a_, 0, 2), gives(a_, 7, 200), steps(a_, 0, 6), gives(a_, 7, 300), step(a_, 0), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAAAA" "AA" "BABA");
}

// What comes out as it went in: behind what gave it, though more had been given before it was back.
TEST_F(WakeOrderTest, BehindWhatItTook) {
  take_of_two(1, 1, 0);
  EXPECT_EQ(order(), "AAA" "AA" "BABA");
}

TEST_F(WakeOrderTest, NotBehindWhatWasNotTakenUp) {
  take_of_two(1, 10, 10);
  EXPECT_EQ(order(), "AAAAA" "AA" "BABA");
}

// Somebody gives there whom nobody sees: which was the first is not known.
TEST_F(WakeOrderTest, BehindAllOfWhatDoesNotAddUp) {
  take_of_two(3, 1, 0);
  EXPECT_EQ(order(), "AAAAA" "AA" "BABA");
}

// It waited though there was more than it took: something has gone elsewhere.
TEST_F(WakeOrderTest, BehindAllWhereWhoeverWaitedShouldHaveFoundSomething) {
  a_.hand_over(7, 100, 5);
  b_.event(Event::kSyscallEnter, {SYS_read, 1});
  b_.hand_over(7 | border::HandOver::kTook | border::HandOver::kWaited, 250, 1, 120);
  b_.event(Event::kSyscallExit, {SYS_read, 1}), steps(b_, 1, 2);
  steps(a_, 0, 2), gives(a_, 7, 150, 1), steps(a_, 0, 2), gives(a_, 7, 200, 1), steps(a_, 0, 6), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAAAA" "AA" "BABA");
}

// Its words are waited for from then on: when the host lets it run is in no clock.
TEST_F(WakeOrderTest, WhoeverIsGivenWhatItWaitsForIsRunnable) {
  Producer c(target_, 2, static_cast<uint32_t>(getpid()));   // wants a processor, as /proc says
  a_.event(Event::kThreadCreate, {2}), c.start(0), b_.end();
  steps(c, 2, 1), c.waits_on(7), c.event(Event::kSyscallEnter, {SYS_read, 1}), c.state(border::ThreadState::kInKernel);
  settle(true);
  steps(a_, 0, 3), gives(a_, 7, 200, 1), steps(a_, 0, 9), a_.end();
  settle(true);
  EXPECT_LT(order().size(), 10u) << order();
  c.hand_over(7 | border::HandOver::kTook, 250, 1), c.event(Event::kSyscallExit, {SYS_read, 1}), steps(c, 2, 3), c.end();
  settle(true);
  EXPECT_EQ(order().size(), 17u) << order();
}

TEST_F(WakeOrderTest, NotBehindWhatIsGivenElsewhere) {
  takes(b_, 7, 250), steps(b_, 1, 2);
  steps(a_, 0, 2), gives(a_, 8, 200), steps(a_, 0, 2), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AABABA");
}

TEST_F(WakeOrderTest, NotBehindOthersThatTake) {
  takes(b_, 7, 250), steps(b_, 1, 2);
  steps(a_, 0, 2), takes(a_, 7, 200), steps(a_, 0, 2), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AABABA");
}

// A lock or a token, which had not to be waited for: who had it before is the host's doing.
TEST_F(WakeOrderTest, NotBehindWhatIsGivenBack) {
  has_had(b_, 7, 6);
  takes(b_, 7, 250), steps(b_, 1, 2), gives(b_, 7, 300), b_.end();
  steps(a_, 0, 2), gives(a_, 7, 200), steps(a_, 0, 2), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AABABAA");
}

// The same, by one who has never given: that another one both takes and gives it is enough.
TEST_F(WakeOrderTest, NotBehindWhatAnotherGivesBack) {
  has_had(a_, 7, 6);
  takes(b_, 7, 250), steps(b_, 1, 2), b_.end();
  steps(a_, 0, 2), gives(a_, 7, 200), steps(a_, 0, 2), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AABABAA");
}

// Who has done so once, as a loop that has woken itself, goes behind what others give.
TEST_F(WakeOrderTest, BehindWhatWasGivenBackOnce) {
  has_had(b_, 7, 1);
  takes(b_, 7, 250), steps(b_, 1, 2), b_.end();
  steps(a_, 0, 2), gives(a_, 7, 200), steps(a_, 0, 2), a_.end();
  settle(true);
  EXPECT_GE(order().find('B'), 3u) << order();
}

// And it had to be waited for: behind the last that was given before, not behind what was given by those before.
TEST_F(WakeOrderTest, BehindTheLastThatWasGivenBackIfItWaited) {
  Producer c(target_, 2, 3);
  a_.event(Event::kThreadCreate, {2}), c.start(0);
  has_had(a_, 7, 6);
  takes(b_, 7, 250, 1, true), steps(b_, 1, 2), gives(b_, 7, 300), b_.end();
  steps(c, 2, 6), gives(c, 7, 100), steps(c, 2, 2), c.end();
  steps(a_, 0, 2), gives(a_, 7, 200), steps(a_, 0, 8), a_.end();
  settle(true);
  const std::string all = order();
  EXPECT_EQ(std::count(all.begin(), all.begin() + static_cast<long>(all.find('B')), 'A'), 4) << all;
  EXPECT_LT(std::count(all.begin(), all.begin() + static_cast<long>(all.find('B')), 'C'), 6) << all;
}

// What was noted is looked at also when nobody is back from anything: there may come more of it than is kept.
TEST_F(WakeOrderTest, BehindWhatManyCallsCameAfter) {
  Producer c(target_, 2, 3);
  a_.event(Event::kThreadCreate, {2}), c.start(0);
  b_.event(Event::kSyscallEnter, {SYS_read, 1}), b_.state(border::ThreadState::kInKernel);
  steps(a_, 0, 6), gives(a_, 7, 200), steps(a_, 0, 2), a_.end();
  steps(c, 2, 2);
  for (int polls = 0; polls < 64; ++polls) merge().advance(true);   // waits for C
  const std::string before = order();
  ASSERT_LT(std::ranges::count(before, 'A'), 6) << before;
  for (uint32_t n = 0; n < border::kHandOvers; ++n) a_.hand_over(8, 300 + n);
  b_.hand_over(7 | border::HandOver::kTook, 250), b_.event(Event::kSyscallExit, {SYS_read, 1}), steps(b_, 1, 2);
  steps(c, 2, 8), c.end();
  settle(true);
  const std::string all = order();
  EXPECT_GE(std::count(all.begin(), all.begin() + static_cast<long>(all.find('B')), 'A'), 7) << all;
}

TEST_F(WakeOrderTest, NotByACallThatFailed) {
  takes(b_, 7, 250, static_cast<uint64_t>(-EAGAIN)), steps(b_, 1, 2);
  steps(a_, 0, 2), gives(a_, 7, 200), steps(a_, 0, 2), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AABABA");
}

// By processes that share the memory: each knows it by an address of its own, here both are threads of one.
TEST_F(WakeOrderTest, OfSharedMemoryByWhatItIs) {
  const auto map = [](Producer& thread, uint64_t address) {
    thread.event(Event::kMappingChange, {SYS_mmap, address, 0, 4096, 3, MAP_SHARED, 0, 0, 0, 5, 77});
  };
  map(a_, 0x10000), map(a_, 0x20000);
  steps(b_, 1, 2), b_.event(Event::kSyscallEnter, {SYS_futex, 1, FUTEX_WAIT, 0x20010, 0}), b_.event(Event::kSyscallExit, {SYS_futex, 0}), steps(b_, 1, 2);
  steps(a_, 0, 5), a_.event(Event::kSyscallEnter, {SYS_futex, 0, FUTEX_WAKE, 0x10010, 1}), a_.event(Event::kSyscallExit, {SYS_futex, 1}), steps(a_, 0, 4), a_.end();
  settle(true);
  EXPECT_EQ(order(), "ABAB" "AAAA" "A" "BABA");
}

// A wake that was read before the wait that it ends: the reader waits for the words behind it.
TEST_F(WakeOrderTest, WhoeverIsBeingWokenAlreadyIsRunnable) {
  Producer c(target_, 2, static_cast<uint32_t>(getpid()));   // wants a processor, as /proc says
  a_.event(Event::kThreadCreate, {2}), c.start(0), b_.end();
  step(a_, 0), wakes(a_, 1), steps(a_, 0, 9), a_.end();
  steps(c, 2, 2), c.event(Event::kSyscallEnter, {SYS_futex, 1, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0x5000, 0});
  c.state(border::ThreadState::kInKernel);
  settle(true);
  EXPECT_LT(order().size(), 8u) << order();
  c.event(Event::kSyscallExit, {SYS_futex, 0}), steps(c, 2, 3), c.end();
  settle(true);
  EXPECT_EQ(order().size(), 16u) << order();
}

}  // namespace
}  // namespace simrun::channel
