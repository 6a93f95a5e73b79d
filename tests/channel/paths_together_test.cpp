// A sink that takes the paths of a turn at once gets the same references, and the same is counted, as when it takes
// them one by one: with every kind of operand, strings by iterations, several threads.
#include <gtest/gtest.h>

#include <random>

#include "instr/channel/merge.h"
#include "tests/channel/fake_target.h"
#include "tests/channel/recording_sink.h"
#include "tests/channel/same_statistics.h"

namespace simrun::channel {
namespace {

using namespace border;

// Takes paths at once, and of strings up to five iterations.
struct TogetherSink {
  static constexpr bool kWantsReferences = true;

  struct Way {
    TogetherSink& sink;
    uint32_t handle;
    void plain(const Reference* at, const Reference* end, const uint64_t* words) {
      ++sink.ways_used;
      for (; at != end; ++at) put(sink, handle, at->kind, evaluate(*at, words), at->bytes, 0);
    }
    template <class Do>
    void special(Do make) {
      make();
    }
    void count(const PlainCounts& c) {
      sink.counted.fetches += c.fetches, sink.counted.loads += c.loads;
      sink.counted.stores += c.stores, sink.counted.modifications += c.modifications;
    }
  };
  template <class Take>
  bool take_together(uint32_t handle, Take take) {
    if (++turns % 8 == 0) return false;  // not now
    Way way{*this, handle};
    take(way);
    return true;
  }
  uint64_t iterations(uint32_t handle, std::span<const StringReference> first, int64_t step, uint64_t most,
                      uint64_t /*pc*/) {
    if (first[0].address % 3 == 0) return 0;
    const uint64_t taken = std::min<uint64_t>(most, 5);
    for (uint64_t i = 0; i < taken; ++i)
      for (const StringReference& r : first)
        data(handle, r.kind, r.address + i * static_cast<uint64_t>(step), r.bytes);
    iterations_taken += taken;
    return taken;
  }
  uint32_t start_thread(const ThreadReport& thread) { return inner.start_thread(thread); }
  void fetch(uint32_t handle, uint64_t line) { inner.fetch(handle, line); }
  void data(uint32_t handle, ReferenceKind kind, uint64_t address, uint32_t bytes) {
    inner.data(handle, kind, address, bytes);
  }

  RecordingSink inner;
  PlainCounts counted{};
  uint64_t turns = 0, ways_used = 0, iterations_taken = 0;
};
static_assert(TakesTogether<TogetherSink> && TakesIterations<TogetherSink> && !HearsOfEachPath<TogetherSink>);

// Paths of up to six instructions with two words; words 1 and 2 are also the ends of strings.
std::vector<uint32_t> add_random_paths(FakeTarget& target, std::mt19937_64& random) {
  std::vector<uint32_t> paths;
  for (uint64_t pc = 0x1000; paths.size() < 20; pc += random() % 100) {
    std::vector<FakeInstruction> instructions(1 + random() % 6);
    for (FakeInstruction& i : instructions) {
      i.length = static_cast<uint8_t>(1 + random() % 8);
      if (random() % 3 == 0) continue;
      const auto kind = static_cast<OperandKind>(random() % 7);
      OperandDescriptor o = address_operand(kind, static_cast<uint16_t>(1 + random() % 2), 8, random() % 64);
      if (random() % 8 == 0) o.flags |= kFsBase;
      i.operands.push_back(o);
    }
    if (random() % 5 == 0) {
      OperandDescriptor o = address_operand(OperandKind::kStore, 1, 4, 0, 1);
      o.form = OperandForm::kRepeatString;
      o.word_c = 2;
      instructions.push_back({3, {o}, kRepeats});
    }
    paths.push_back(target.add_path(pc, instructions, 2));
  }
  return paths;
}

struct Outcome {
  std::vector<ThreadReport> reports;
  std::vector<Recorded> references;
};

template <class Sink>
Outcome run(uint64_t seed, Sink& sink, RecordingSink& recording) {
  std::mt19937_64 random(seed);
  FakeTarget target(8192, 16);
  const MappedProcess process(target.mapping());
  MergeOptions options;
  options.quantum = 1 + random() % 60;
  Merge<Sink> merge(process, sink, options);
  const std::vector<uint32_t> paths = add_random_paths(target, random);
  Producer a(target, 0, 1), b(target, 1, 2);
  a.start(~0u, 0x70000), a.event(Event::kThreadCreate, {1}), b.start(0, 0x80000);
  for (int left = 400; left != 0; --left) {
    const uint64_t base = 0x10000 + random() % 4096;
    (random() % 2 == 0 ? a : b).put({paths[random() % paths.size()], base, base + 4 * (random() % 20)});
    if (random() % 16 == 0) merge.advance(true);
  }
  a.end(), b.end();
  while (merge.advance(false) != Status::kFinished) {
  }
  return {merge.reports(), recording.all};
}

TEST(PathsTogether, CountAndGiveWhatPathsOneByOneDo) {
  uint64_t ways_used = 0, iterations = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    RecordingSink each;
    TogetherSink together;
    const Outcome expected = run(seed, each, each), outcome = run(seed, together, together.inner);
    ASSERT_EQ(outcome.references, expected.references);
    ASSERT_EQ(outcome.reports.size(), expected.reports.size());
    for (size_t i = 0; i < outcome.reports.size(); ++i)
      expect_same_counts(outcome.reports[i].statistics, expected.reports[i].statistics);
    ways_used += together.ways_used, iterations += together.iterations_taken;
  }
  EXPECT_GT(ways_used, 5000u);
  EXPECT_GT(iterations, 1000u);
}

}  // namespace
}  // namespace simrun::channel
