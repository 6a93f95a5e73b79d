// What the sink of `bbv` keeps of threads and processes that have ended.
#include "cli/phases/block_profiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/channel/fake_target.h"

namespace simrun::cli {
namespace {

using border::Event;
using channel::FakeTarget;
using channel::Producer;

constexpr uint16_t kPathLength = 10;

// A process that makes others and threads, one after the other; each executes a path of its own.
class BlockProfilerTest : public ::testing::Test {
 protected:
  void start(uint64_t interval) {
    const auto keep = [this](const simpoint::Interval& i, std::span<const simpoint::Entry> entries) {
      intervals_.push_back(i);
      vectors_.emplace_back(entries.begin(), entries.end());
    };
    const OriginOf origin = [](uint32_t process) {
      ProcessOrigin of{process == 0 ? "" : "0." + std::to_string(process), std::nullopt, std::vector<MapsEntry>()};
      if (process != 0) of.copy_of = 0;
      return of;
    };
    profiler_ = std::make_unique<BlockProfiler>(ProfilerOptions{.length = interval, .left_out = {}}, keep, origin);
    merge_ = std::make_unique<channel::Merge<BlockProfiler>>(*profiler_, channel::MergeOptions{.quantum = 10, .pins = {}});
    merge_->add_process(mapped_);
    main_path_ = target_.add_plain(0x100000, kPathLength);
    thread_path_ = target_.add_plain(0x200000, kPathLength);
    main_.start();
    step();
  }
  void step() {
    main_.put({main_path_});
    ++steps_;
    settle();
  }
  // Far enough for what others have written to be read.
  void go_on() {
    for (int k = 0; k < 3; ++k) step();
  }
  void settle() {
    while (merge_->advance() == channel::Status::kAdvanced) {
    }
  }
  void run_thread() {
    main_.event(Event::kThreadCreate, {1});
    Producer thread(target_, 1, 42);
    thread.start(0);
    thread.put({thread_path_});
    thread.end();
    go_on();
  }
  // Its threads do not say that they end.
  void run_process() {
    FakeTarget target(8192, 16);
    const channel::MappedProcess mapped(target.mapping());
    const uint32_t path = target.add_plain(0x500000, kPathLength);
    main_.event(Event::kProcessFork, {99, ++forks_});
    const uint32_t index = merge_->add_process(mapped, {channel::Origin::Kind::kFork, 0, forks_, 0});
    Producer thread(target, 0, 43);
    thread.start();
    thread.put({path});
    thread.state(border::ThreadState::kDead);
    for (int k = 0; k < 10 && !merge_->is_done(index); ++k) {
      go_on();
      merge_->set_alive(index, false);
    }
    ASSERT_TRUE(merge_->is_done(index));
    merge_->forget(index);
    go_on();
  }

  FakeTarget target_{8192, 64};
  channel::MappedProcess mapped_{target_.mapping()};
  Producer main_{target_, 0, 41};
  uint32_t main_path_ = 0, thread_path_ = 0;
  uint64_t forks_ = 0, steps_ = 0;
  std::vector<simpoint::Interval> intervals_;
  std::vector<std::vector<simpoint::Entry>> vectors_;
  std::unique_ptr<BlockProfiler> profiler_;
  std::unique_ptr<channel::Merge<BlockProfiler>> merge_;
};

TEST_F(BlockProfilerTest, ThreadsThatHaveEndedAreNotKept) {
  start(50);
  for (int k = 0; k < 300; ++k) {
    run_thread();
    ASSERT_LE(profiler_->kept().threads, 8u) << "after " << k;
  }
  // All were counted nevertheless, in the dimension of the first: each takes its number.
  const simpoint::Profile profile = profiler_->finish((steps_ + 300) * kPathLength);
  EXPECT_EQ(profile.threads, 301u);
  EXPECT_EQ(profile.left_out, 0u);
  ASSERT_EQ(profile.blocks.size(), 2u);
  std::vector<double> counts(profile.blocks.size() + 1);
  for (const auto& vector : vectors_)
    for (const simpoint::Entry& entry : vector) counts[entry.block] += entry.count;
  for (size_t k = 1; k <= profile.blocks.size(); ++k) {
    const simpoint::Block& block = profile.blocks[k - 1];
    EXPECT_EQ(counts[k], (block.thread == 0 ? steps_ : 300) * kPathLength) << "block " << k;
  }
}

// Those that end within one long interval leave what they have executed there, not arrays as long as the program has
// paths.
TEST_F(BlockProfilerTest, ThreadsThatHaveEndedInThisIntervalAreSmall) {
  start(1'000'000'000);
  run_thread();
  const size_t before = profiler_->kept().words;
  for (int k = 0; k < 300; ++k) run_thread();
  EXPECT_LE(profiler_->kept().words, before + 300 * 2);
  profiler_->finish(0);
  ASSERT_EQ(vectors_.size(), 1u);
  EXPECT_EQ(vectors_[0].size(), 2u);
}

TEST_F(BlockProfilerTest, ProcessesThatHaveEndedAreNotKept) {
  start(1000);
  for (int k = 0; k < 30; ++k) {
    run_process();
    ASSERT_EQ(profiler_->kept().processes, 1u) << "after " << k;
    ASSERT_LE(profiler_->kept().threads, 20u) << "after " << k;
  }
  const simpoint::Profile profile = profiler_->finish((steps_ + 30) * kPathLength);
  EXPECT_EQ(profile.left_out, 0u);
  ASSERT_EQ(profile.blocks.size(), 31u);
  EXPECT_EQ(std::count_if(profile.blocks.begin(), profile.blocks.end(), [](const auto& b) { return b.place.pc >= 0x500000; }), 30);
}

}  // namespace
}  // namespace simrun::cli
