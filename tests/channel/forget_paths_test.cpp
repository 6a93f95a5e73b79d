// Path ids that begin anew (Event::kForgetPaths).
#include "tests/channel/merge_fixture.h"

namespace simrun::channel {
namespace {

struct ForgettingSink {
  static constexpr bool kWantsReferences = true;
  uint32_t start_thread(const ThreadReport& thread) { return thread.index; }
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, ReferenceKind, uint64_t address, uint32_t) { calls.push_back(address); }
  void event(MergeThread&, std::span<const uint64_t> words) { events.push_back(static_cast<uint32_t>(words[0])); }
  void forget_paths(uint32_t process) { calls.push_back(kForgets + process); }

  static constexpr uint64_t kForgets = 1'000'000;
  std::vector<uint64_t> calls;  // addresses, and what is to be forgotten
  std::vector<uint32_t> events;
};

void read_all(Merge<ForgettingSink>& merge) {
  while (merge.advance(true) == Status::kAdvanced) {
  }
}

TEST_F(MergeTest, PathsAreForgottenWhenAllThreadsAreRead) {
  ForgettingSink sink;
  Merge<ForgettingSink> merge(process_, sink, options_);
  EXPECT_EQ(target_.header().forgets_paths.load(), 1u);
  Producer a(target_, 0, 1), b(target_, 1, 2);
  a.start();
  a.event(Event::kThreadCreate, {1});  // and does not go on, which the child is held for
  b.start(0);
  step(b, 1), step(b, 1);
  b.state(ThreadState::kWaitingInEngine);
  a.event(Event::kForgetPaths, {7});
  a.state(ThreadState::kWaitingInEngine);
  read_all(merge);
  const std::vector<uint64_t> all = {0x2000, 0x2000, ForgettingSink::kForgets};
  EXPECT_EQ(sink.calls, all);
  EXPECT_EQ(target_.header().paths_forgotten.load(), 7u);
  EXPECT_EQ(sink.events, std::vector<uint32_t>({1, 3, 1})) << "what is between the engine and the merge is no sink's business";

  target_.operand(1).disp = 0x30;  // the id means something else
  b.state(ThreadState::kRunning);
  step(b, 1);
  read_all(merge);
  EXPECT_EQ(sink.calls.back(), 0x2030u);
}

TEST_F(MergeTest, ProcessThatEndsMeanwhileForgetsNothing) {
  ForgettingSink sink;
  Merge<ForgettingSink> merge(process_, sink, options_);
  Producer a(target_, 0, 1);
  a.start();
  step(a, 0);
  a.event(Event::kForgetPaths, {1});
  step(a, 0);  // nobody writes on before the answer, but the end must not wait for that
  while (merge.advance(false) != Status::kFinished) {
  }
  EXPECT_EQ(std::count(sink.calls.begin(), sink.calls.end(), 0x1000u), 2);
  EXPECT_TRUE(merge.is_done(0));
  merge.forget(0);
}

TEST_F(MergeTest, SinkThatForgetsNothingIsNotAskedTo) {
  Producer a(target_, 0, 1);
  a.start();
  settle(true);
  EXPECT_EQ(target_.header().forgets_paths.load(), 0u);
  a.event(Event::kForgetPaths, {1});
  EXPECT_THROW(settle(true), StreamError);
}

}  // namespace
}  // namespace simrun::channel
