// What a walk tells of long and of interrupted string instructions, and of where control went in threads that were away for whole chunks.
#include "traces/instruction_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/traces/made_trace.h"
#include "traces/check/check_trace.h"
#include "traces/export/formats.h"

namespace simrun::traces {
namespace {

struct Seen final : Visitor {
  struct Item {
    uint64_t pc, next_pc, iterations, left_out, first, last;
    uint32_t each;
    size_t references;
  };
  static Item item(const InstructionRecord& i) {
    return {i.pc, i.next_pc, i.iterations, i.references_left_out, i.references.empty() ? 0 : i.references.front().address,
            i.references.empty() ? 0 : i.references.back().address, i.references_each, i.references.size()};
  }
  bool on_instruction(const InstructionRecord& i) override { return instructions.push_back(item(i)), true; }
  bool on_begun_string(const InstructionRecord& i) override { return begun.push_back(item(i)), true; }
  std::vector<Item> instructions, begun;
};

// A `rep movsb` as a superblock of its own, at 0x1000; a jump at 0x2000; another at 0x3000.
class WalkTest : public testing::Test {
 protected:
  void write(const std::function<void(Writer&)>& add) {
    Writer writer(scratch_.file("t"), {{"command", {"made"}}}, {.workers = 1, .chunk_words = 100});
    writer.add_process({});
    DescriptorTable& table = writer.process(0);
    const auto string = [](OperandKind kind, uint16_t word_a) {
      return Operand{.kind = kind, .form = OperandForm::kRepeatString, .word_a = word_a, .word_b = 2, .word_c = 3, .size = 1};
    };
    table.add_superblock({0x1000, {{0, 2, kRepeats}}, {0xf3, 0xa4}, {string(OperandKind::kLoad, 1), string(OperandKind::kStore, 2)}, {6, 7, 7}});
    table.add_superblock({0x2000, {{0, 2, kEndsBlock}}, {0xeb, 0x00}, {}, {}});
    table.add_superblock({0x3000, {{0, 2, kEndsBlock}}, {0xeb, 0x00}, {}, {}});
    paths_ = {table.add_path({0, 1, 2, 3}), table.add_path({1, 1, 0, 0}), table.add_path({2, 1, 0, 0})};
    for (uint32_t t = 0; t < 2; ++t) writer.start_thread(t, 0, 100 + t, 0, 0);
    add(writer);
    writer.finish({{"exit_code", 0}});
  }
  Seen walked(const WalkOptions& options = {}) {
    Seen seen;
    walk(Reader(scratch_.file("t")), options, seen);
    return seen;
  }
  const ScratchDirectory scratch_;
  std::array<uint32_t, 3> paths_{};
};

TEST_F(WalkTest, LongStringsAreCutByIterationsAndSaySo) {
  write([&](Writer& w) { w.add_paths(0, std::array<uint64_t, 4>{paths_[0], 0x10000, 0x50000, 0x50000 + 700}, 1, 1); });
  const Seen seen = walked({.most_references = 100});
  ASSERT_EQ(seen.instructions.size(), 1u);
  EXPECT_EQ(seen.instructions[0].iterations, 700u);
  EXPECT_EQ(seen.instructions[0].each, 2u);
  EXPECT_EQ(seen.instructions[0].references, 100u);
  EXPECT_EQ(seen.instructions[0].left_out, 1300u);
  CompressedOutput out(scratch_.file("c"));
  const auto exporter = make_champsim_exporter(out, {.count_iterations = true});
  walk(Reader(scratch_.file("t")), {.most_references = 100}, *exporter);
  EXPECT_EQ(out.bytes(), 50u * 64);
}

TEST_F(WalkTest, InterruptedStringsGiveTheIterationsDone) {
  write([&](Writer& w) {
    const auto cut = [&](uint64_t iterations, uint64_t from, uint64_t to) {
      w.add_event(0, std::array<uint64_t, 6>{uint64_t{10} | uint64_t{5} << 32, paths_[0], 0, iterations, from, to});
    };
    cut(40, 0x10000, 0x50000);
    cut(static_cast<uint64_t>(-30), 0x10000, 0x50000);
    cut(0, 0x10000, 0x50000);
    w.add_paths(0, std::array<uint64_t, 4>{paths_[0], 0x10000, 0x50000, 0x50000 + 1}, 1, 1);
  });
  const Seen seen = walked();
  ASSERT_EQ(seen.begun.size(), 2u);
  EXPECT_EQ(seen.begun[0].iterations, 40u);
  EXPECT_EQ(seen.begun[0].references, 80u);
  EXPECT_EQ(seen.begun[0].last, 0x50000u + 39);
  EXPECT_EQ(seen.begun[1].references, 60u);
  EXPECT_EQ(seen.begun[1].last, 0x50000u - 29);
  EXPECT_EQ(seen.begun[0].next_pc, 0x1000u);
  EXPECT_EQ(seen.instructions.size(), 1u);
}

TEST_F(WalkTest, WhereAThreadGoesOnThatWasAway) {
  write([&](Writer& w) {
    w.add_paths(0, std::array<uint64_t, 1>{paths_[1]}, 1, 1);
    for (int k = 0; k < 500; ++k) w.add_paths(1, std::array<uint64_t, 1>{paths_[1]}, 1, 1);
    w.add_paths(0, std::array<uint64_t, 1>{paths_[2]}, 1, 1);
  });
  ASSERT_GE(Reader(scratch_.file("t")).chunks().size(), 4u);
  const Seen seen = walked({.thread = 0});
  ASSERT_EQ(seen.instructions.size(), 2u);
  EXPECT_EQ(seen.instructions[0].next_pc, 0x3000u);
  EXPECT_EQ(seen.instructions[1].next_pc, 0u);
}

// A signal's second word, which older traces do not have.
TEST_F(WalkTest, WhereASignalInterrupted) {
  const auto interrupt = [&](Writer& w, std::initializer_list<uint64_t> payload) {
    w.add_paths(0, std::array<uint64_t, 1>{paths_[1]}, 1, 1);
    std::vector<uint64_t> words{9 | uint64_t{payload.size()} << 32};
    words.insert(words.end(), payload);
    w.add_event(0, words);
    w.add_paths(0, std::array<uint64_t, 1>{paths_[2]}, 1, 1);
  };
  const auto violations = [&] { return check_trace(Reader(scratch_.file("t")), [](uint64_t) {}).violations; };
  write([&](Writer& w) { interrupt(w, {14}); });
  EXPECT_EQ(walked().instructions[0].next_pc, 0x3000u);
  EXPECT_TRUE(violations().empty());
  write([&](Writer& w) { interrupt(w, {14, 0x2002}); });
  EXPECT_EQ(walked().instructions[0].next_pc, 0x2002u);
  EXPECT_TRUE(violations().empty());
  write([&](Writer& w) { interrupt(w, {14, 0x2003}); });
  EXPECT_THAT(violations(), testing::ElementsAre(testing::HasSubstr("control goes from the block at 0x2000 (which ends at 0x2002) to 0x2003")));
}

}  // namespace
}  // namespace simrun::traces
