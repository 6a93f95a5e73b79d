// Who waited for another thread goes on behind what that one had done when it woke it, however far that is ahead of the reader. (It comes back at
// the other's clock, and of equal clocks the thread created first has its turn first: one step of A more.)
#include <linux/futex.h>
#include <sys/syscall.h>

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
  static void wakes(Producer& thread, uint64_t result) {
    thread.event(Event::kSyscallEnter, {SYS_futex, 0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 0x5000, 1});
    thread.event(Event::kSyscallExit, {SYS_futex, result});
  }
  void steps(Producer& thread, uint32_t t, int count) {
    for (int i = 0; i < count; ++i) step(thread, t);
  }

  Producer a_{target_, 0, 1}, b_{target_, 1, 2};
};

TEST_F(WakeOrderTest, BehindTheCallThatWokeIt) {
  waits(b_, 0), steps(b_, 1, 3);
  steps(a_, 0, 5), wakes(a_, 1), steps(a_, 0, 3), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAAAAA" "AA" "BABB");
  EXPECT_EQ(report(1).end_clock, 100u);  // from A's 70 on
}

TEST_F(WakeOrderTest, OneForEachThatWasWoken) {
  waits(b_, 0), step(b_, 1), waits(b_, 0), step(b_, 1);
  steps(a_, 0, 2), wakes(a_, 1), steps(a_, 0, 4), wakes(a_, 0), steps(a_, 0, 2), wakes(a_, 1), a_.end();
  settle(true);
  EXPECT_EQ(order(), "AAA" "AA" "B" "AAAA" "B");
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

TEST_F(WakeOrderTest, TwoThatWaitForEachOtherGoOn) {
  waits(a_, 0), steps(a_, 0, 2), a_.end();
  waits(b_, 0), steps(b_, 1, 2), b_.end();
  settle(true);
  EXPECT_EQ(order().size(), 5u);
  EXPECT_EQ(report_count(), 2u);
}

}  // namespace
}  // namespace simrun::channel
