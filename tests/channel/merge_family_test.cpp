#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "instr/channel/merge.h"
#include "tests/channel/merge_fixture.h"

namespace simrun::channel {
namespace {

// Two processes: the second is born of the first.
class FamilyTest : public MergeTest {
 protected:
  FamilyTest() : child_process_(child_target_.mapping()) {
    std::vector<FakeInstruction> ten(10);
    ten[0].operands.push_back(address_operand(OperandKind::kLoad, 1, 8));
    child_path_ = child_target_.add_path(0x500000, ten, 1);
  }
  void child_step(Producer& producer) { producer.put({child_path_, 0x5000}); }  // E
  // A thread, and one that it makes, which has some steps to do.
  void start_two(Producer& a, Producer& b) {
    a.start();
    a.event(Event::kThreadCreate, {1});
    b.start(0);
    for (int k = 0; k < 5; ++k) step(b, 1);
  }
  // It makes the child 99 and waits for it.
  void fork_and_wait(Producer& a) {
    a.start();
    a.event(Event::kProcessFork, {99, 7});
    a.event(Event::kSyscallEnter, {SYS_wait4, 1});
    merge().add_process(child_process_, forked(7));
  }
  static Origin forked(uint64_t token) { return {Origin::Kind::kFork, 0, token, 0}; }

  FakeTarget child_target_{8192, 16};
  MappedProcess child_process_;
  uint32_t child_path_ = 0;
};

TEST_F(FamilyTest, NothingPassesAForkBeforeItIsKnownWhatBecameOfTheChild) {
  auto state = ChildState::kPending;
  merge().set_find_child([&](uint32_t parent, uint64_t token, uint64_t pid) {
    EXPECT_EQ(parent, 0u);
    EXPECT_EQ(token, 7u);
    EXPECT_EQ(pid, 99u);
    return state;
  });
  Producer a(target_, 0, 41);
  a.start();
  step(a, 0);
  a.event(Event::kProcessFork, {99, 7});
  step(a, 0), step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "A");
  EXPECT_EQ(merge().advance(true), Status::kIdle);
  state = ChildState::kNative;
  settle(true);
  EXPECT_EQ(order(), "AAA");
  EXPECT_EQ(merge().events().forks, 1u);
}

// The host may have made the second child first: their numbers are in the order in which they were made.
TEST_F(FamilyTest, IsExpectedOnlyWhenItIsAnnounced) {
  merge().set_find_child([](uint32_t, uint64_t, uint64_t) { return ChildState::kFollowed; });
  bool has_image = true;
  merge().set_find_image([&](uint32_t process) { return process == 1 && has_image; });
  FakeTarget second_target(8192, 16), image_target(8192, 16);
  MappedProcess second(second_target.mapping()), image(image_target.mapping());
  const Origin executed{Origin::Kind::kExec, 1, 0, 0};
  Producer a(target_, 0, 41), e(child_target_, 0, 99), f(second_target, 0, 100);
  a.start();
  step(a, 0);
  a.event(Event::kProcessFork, {99, 7});
  step(a, 0);
  a.event(Event::kProcessFork, {100, 8});
  EXPECT_TRUE(merge().is_expected({}));
  EXPECT_FALSE(merge().is_expected(forked(7)));
  settle(true);
  EXPECT_TRUE(merge().is_expected(forked(7)));
  EXPECT_FALSE(merge().is_expected(forked(8)));
  ASSERT_EQ(merge().add_process(child_process_, forked(7)), 1u);
  e.start();
  e.event(Event::kExec, {1});
  settle(true);
  EXPECT_FALSE(merge().is_expected(forked(7)));
  EXPECT_TRUE(merge().is_expected(executed));
  EXPECT_FALSE(merge().is_expected(forked(8)));
  merge().set_alive(1, false);   // its process is another image already, which is to be added
  settle(true);
  EXPECT_FALSE(merge().is_expected(forked(8)));
  has_image = false;
  settle(true);
  EXPECT_TRUE(merge().is_expected(forked(8)));
  EXPECT_TRUE(merge().is_expected({Origin::Kind::kFork, 1, 9, 0}));   // nobody is left who would announce it
  ASSERT_EQ(merge().add_process(second, forked(8)), 2u);
}

TEST_F(FamilyTest, ChildStartsAtItsParentsClock) {
  merge().set_find_child([](uint32_t, uint64_t, uint64_t) { return ChildState::kPending; });
  Producer a(target_, 0, 41), e(child_target_, 0, 99);
  a.start();
  step(a, 0), step(a, 0);
  a.event(Event::kProcessFork, {99, 7});
  step(a, 0), step(a, 0);
  settle(true);
  e.start();
  child_step(e), child_step(e);
  ASSERT_EQ(merge().add_process(child_process_, forked(7)), 1u);
  settle(true);
  EXPECT_EQ(order(), "AAAEAE");
  EXPECT_EQ(report(1).process, 1u);
  EXPECT_EQ(report(1).start_clock, 20u);
  EXPECT_EQ(merge().events().forks, 0u);
}

// It runs, or will as soon as the host has a processor for it: how soon that is must not be in the order.
TEST_F(FamilyTest, TheFirstWordsOfAChildAreWaitedFor) {
  Producer a(target_, 0, 41);
  a.start();
  a.event(Event::kProcessFork, {99, 7});
  for (int k = 0; k < 5; ++k) step(a, 0);
  merge().add_process(child_process_, forked(7));
  const auto until = std::chrono::steady_clock::now() + 5 * options_.stall_time_out;
  while (std::chrono::steady_clock::now() < until) settle(true);
  EXPECT_EQ(order(), "A");
  Producer e(child_target_, 0, 99);
  e.start();
  child_step(e), child_step(e);
  settle(true);
  EXPECT_EQ(order(), "AEAEA");
  EXPECT_EQ(report(1).statistics.stalls, 0u);
}

TEST_F(FamilyTest, TheFirstWordsOfAnImageAreWaitedFor) {
  Producer a(target_, 0, 41), b(target_, 1, 42);
  start_two(a, b);
  step(a, 0);
  a.event(Event::kExec, {1});
  settle(true);
  EXPECT_EQ(order(), "AB");
  merge().add_process(child_process_, {Origin::Kind::kExec, 0, 0, 0});
  settle(true);
  EXPECT_EQ(order(), "ABB");
  Producer e(child_target_, 0, 41);
  e.start();
  child_step(e), child_step(e);
  settle(true);
  EXPECT_EQ(order(), "ABBEBEB");
}

// When its parent goes on, which a vfork keeps from saying that there is a child, is the host's, too.
TEST_F(FamilyTest, AParentInVforkIsWaitedFor) {
  Producer a(target_, 0, 41), b(target_, 1, 42);
  start_two(a, b);
  step(a, 0);
  a.state(border::ThreadState::kInShortCall);
  const auto until = std::chrono::steady_clock::now() + 5 * options_.stall_time_out;
  while (std::chrono::steady_clock::now() < until) settle(true);
  EXPECT_EQ(order(), "AB");
  a.event(Event::kProcessFork, {99, 7});
  a.state(border::ThreadState::kRunning);
  step(a, 0);
  merge().add_process(child_process_, forked(7));
  Producer e(child_target_, 0, 99);
  e.start();
  child_step(e);
  settle(true);
  EXPECT_EQ(order(), "ABABE");
  EXPECT_EQ(report(2).start_clock, 10u);
}

// Its child does something else first, maybe something that needs the others.
TEST_F(FamilyTest, AParentInVforkIsNotWaitedForForEver) {
  options_.stall_time_out = std::chrono::milliseconds(2);
  Producer a(target_, 0, 41), b(target_, 1, 42);
  start_two(a, b);
  step(a, 0);
  a.state(border::ThreadState::kInShortCall);
  while (order().size() < 6) settle(true);
  EXPECT_EQ(order(), "ABBBBB");
  b.state(border::ThreadState::kInKernel);
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "ABBBBBA");
  EXPECT_EQ(report(0).statistics.stalls, 0u);
}

// One that dies before it has said anything keeps nobody waiting.
TEST_F(FamilyTest, AChildWithoutWordsEnds) {
  Producer a(target_, 0, 41);
  a.start();
  a.event(Event::kProcessFork, {99, 7});
  for (int k = 0; k < 5; ++k) step(a, 0);
  merge().add_process(child_process_, forked(7));
  settle(true);
  merge().set_alive(1, false);
  settle(true);
  EXPECT_EQ(order(), "AAAAA");
  EXPECT_TRUE(merge().is_done(1));
}

// Host threads run ahead of the reader: what the child did comes before what its parent does behind its wait.
TEST_F(FamilyTest, AParentGoesOnBehindTheEndOfTheChildThatItWaitedFor) {
  Producer a(target_, 0, 41), e(child_target_, 0, 99);
  fork_and_wait(a);
  e.start();
  for (int k = 0; k < 4; ++k) child_step(e);
  e.end();
  a.event(Event::kSyscallExit, {SYS_wait4, 99, 99});
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "EEEEA");
  EXPECT_EQ(report(0).end_clock, 50u);
}

// It goes on at once when the wait says that the child has stopped, and behind the end of one that is not known.
TEST_F(FamilyTest, AParentIsNotHeldByOtherChildren) {
  Producer a(target_, 0, 41), e(child_target_, 0, 99);
  fork_and_wait(a);
  e.start();
  child_step(e), child_step(e);
  a.event(Event::kSyscallExit, {SYS_wait4, 99});
  step(a, 0);
  a.event(Event::kSyscallEnter, {SYS_waitid, 1});
  a.event(Event::kSyscallExit, {SYS_waitid, 0, 98});
  step(a, 0);
  settle(true);
  EXPECT_EQ(order().size(), 4u);
}

TEST_F(FamilyTest, AChildThatExecutesAProgramIsWaitedForToo) {
  FakeTarget image_target(8192, 16);
  std::vector<FakeInstruction> ten(10);
  ten[0].operands.push_back(address_operand(OperandKind::kLoad, 1, 8));
  const uint32_t path = image_target.add_path(0x600000, ten, 1);
  MappedProcess image(image_target.mapping());
  Producer a(target_, 0, 41), e(child_target_, 0, 99), f(image_target, 0, 99);
  fork_and_wait(a);
  a.event(Event::kSyscallExit, {SYS_wait4, 99, 99});
  step(a, 0);
  e.start();
  child_step(e);
  e.event(Event::kExec, {1});
  merge().add_process(image, {Origin::Kind::kExec, 1, 0, 0});
  merge().set_alive(1, false);
  f.start();
  for (int k = 0; k < 3; ++k) f.put({path, 0x6000});
  f.end();
  settle(true);
  EXPECT_EQ(order(), "EFFFA");
}

// The host does away with a process after its last words.
TEST_F(FamilyTest, AParentIsRunnableFromTheEndOfItsChild) {
  Producer a(target_, 0, 41), b(target_, 1, 42), e(child_target_, 0, 99);
  start_two(a, b);
  a.event(Event::kProcessFork, {99, 7});
  a.event(Event::kSyscallEnter, {SYS_wait4, 1});
  a.state(border::ThreadState::kInKernel);
  merge().add_process(child_process_, forked(7));
  e.start();
  child_step(e), child_step(e);
  e.end();
  const auto until = std::chrono::steady_clock::now() + 5 * options_.stall_time_out;
  while (std::chrono::steady_clock::now() < until) settle(true);
  EXPECT_EQ(order(), "BEBEB");  // the child's end comes in a turn of its own
  a.event(Event::kSyscallExit, {SYS_wait4, 99, 99});
  step(a, 0), step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "BEBEBABAB");
  EXPECT_EQ(report(0).statistics.stalls, 0u);
}

// Whoever computes all the time must not keep all children that ever were.
TEST_F(FamilyTest, ChildIsDoneWhileItsParentIsBusy) {
  Producer a(target_, 0, 41), e(child_target_, 0, 99);
  a.start();
  a.event(Event::kProcessFork, {99, 7});
  for (int k = 0; k < 1000; ++k) step(a, 0);
  merge().set_alive(0, true);
  merge().add_process(child_process_, forked(7));
  e.start();
  child_step(e);
  e.event(Event::kThreadEnd);
  e.state(border::ThreadState::kDead);
  merge().set_alive(1, true);
  EXPECT_EQ(merge().advance(), Status::kAdvanced);
  EXPECT_FALSE(merge().is_done(1));
  merge().set_alive(1, false);
  EXPECT_EQ(merge().advance(), Status::kAdvanced);
  EXPECT_TRUE(merge().is_done(1));
  EXPECT_LT(order().size(), 1000u);  // there is more to read
}

TEST_F(FamilyTest, ChildThatWasAddedBeforeItsParentsWordsWereReadWaits) {
  Producer a(target_, 0, 41), e(child_target_, 0, 99);
  a.start();
  merge();
  e.start();
  child_step(e);
  merge().add_process(child_process_, forked(7));
  settle(true);
  EXPECT_EQ(order(), "");
  step(a, 0);
  a.event(Event::kProcessFork, {99, 7});
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "AAE");
}

TEST_F(FamilyTest, ChildOfAParentThatDiedBeforeItSaidSo) {
  Producer a(target_, 0, 41), e(child_target_, 0, 99);
  a.start();
  step(a, 0);
  merge().add_process(child_process_, forked(7));
  e.start();
  child_step(e);
  e.event(Event::kThreadEnd);
  e.state(border::ThreadState::kDead);
  merge().set_alive(1, true);
  settle(false);
  EXPECT_EQ(order(), "AE");
  EXPECT_FALSE(merge().is_done(1));
  merge().set_alive(1, false);
  EXPECT_EQ(merge().advance(), Status::kFinished);
  EXPECT_TRUE(merge().is_done(0));
  EXPECT_TRUE(merge().is_done(1));
  merge().forget(0), merge().forget(1);
  EXPECT_EQ(merge().advance(), Status::kFinished);
}

// Its thread is not taken for an orphan while its first thread has words.
TEST_F(FamilyTest, DeadChildOfADeadParentWithAThread) {
  Producer a(target_, 0, 41), e(child_target_, 0, 99), f(child_target_, 1, 100);
  a.start();
  step(a, 0);
  merge().add_process(child_process_, forked(7));
  e.start();
  e.event(Event::kThreadCreate, {1});
  child_step(e);
  f.start(0);
  child_step(f);
  settle(true);
  merge().set_alive(1, false);
  settle(false);
  EXPECT_EQ(order(), "AEE");
  EXPECT_EQ(merge().advance(), Status::kFinished);
}

// A dead process that has not begun may yet say that it forked.
TEST_F(FamilyTest, GrandchildWaitsForItsDeadParentToBegin) {
  merge().set_find_child([](uint32_t, uint64_t, uint64_t) { return ChildState::kFollowed; });
  FakeTarget grandchild_target(8192, 16);
  MappedProcess grandchild_process(grandchild_target.mapping());
  Producer a(target_, 0, 41), e(child_target_, 0, 99), g(grandchild_target, 0, 100);
  a.start();
  step(a, 0);
  settle(true);
  merge().add_process(child_process_, forked(7));
  e.start();
  child_step(e);
  e.event(Event::kProcessFork, {100, 8});
  merge().add_process(grandchild_process, {Origin::Kind::kFork, 1, 8, 0});
  g.start();
  merge().set_alive(1, false);
  merge().set_alive(2, false);
  a.state(border::ThreadState::kInKernel);
  settle(true);
  EXPECT_EQ(order(), "A");
  a.event(Event::kProcessFork, {99, 7});
  settle(false);
  EXPECT_EQ(order(), "AE");
  EXPECT_EQ(merge().advance(), Status::kFinished);
}

TEST_F(FamilyTest, ImageTakesTheClockOfTheOneThatItReplaces) {
  Producer a(target_, 0, 41), e(child_target_, 0, 41);
  a.start();
  step(a, 0);
  a.event(Event::kExec, {1});
  settle(true);
  merge().add_process(child_process_, {Origin::Kind::kExec, 0, 0, 0});
  merge().set_alive(0, false);
  e.start();
  child_step(e);
  while (merge().advance() == Status::kAdvanced) {
  }
  EXPECT_EQ(order(), "AE");
  EXPECT_EQ(report(1).start_clock, 10u);
  EXPECT_EQ(merge().events().execs, 0u);
}

// When the host has done away with it must not be in who gets which core.
TEST_F(FamilyTest, AnImageThatIsReplacedLeavesItsCore) {
  options_.cores = 3;
  FakeTarget image_target(8192, 16);
  std::vector<FakeInstruction> ten(10);
  ten[0].operands.push_back(address_operand(OperandKind::kLoad, 1, 8));
  const uint32_t path = image_target.add_path(0x600000, ten, 1);
  MappedProcess image(image_target.mapping());
  Producer a(target_, 0, 41), e(child_target_, 0, 99), f(image_target, 0, 99), g(image_target, 1, 100);
  fork_and_wait(a);
  e.start();
  child_step(e), child_step(e);
  e.event(Event::kExec, {1});
  merge().add_process(image, {Origin::Kind::kExec, 1, 0, 0});  // process 1 is alive still
  f.start();
  f.event(Event::kThreadCreate, {1});
  g.start(0);
  g.put({path, 0x6000});
  f.end(), g.end();
  settle(true);
  EXPECT_EQ(report(2).core, 2u);
  EXPECT_EQ(report(3).core, 1u);  // of what was replaced; 0 is that of who waits
}

TEST_F(FamilyTest, ExecThatFailsGoesOn) {
  Producer a(target_, 0, 41);
  a.start();
  step(a, 0);
  a.event(Event::kExec, {1});
  settle(true);
  a.event(Event::kExecFailed, {1});
  step(a, 0);
  settle(true);
  EXPECT_EQ(order(), "AA");
}

}  // namespace
}  // namespace simrun::channel
