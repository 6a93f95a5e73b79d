#include "instr/channel/path_table.h"

#include <gtest/gtest.h>

#include "instr/channel/replay.h"
#include "instr/channel/stream_error.h"
#include "tests/channel/fake_target.h"

namespace simrun::channel {
namespace {

using namespace border;

TEST(PathTable, OneFetchPerRunOfInstructionsOnALine) {
  FakeTarget target;
  // 0x1030..0x1043: 0x1030 len 8, 0x1038 len 6, 0x103e len 4 (crosses into line 0x41), 0x1042 len 2.
  const uint32_t id = target.add_path(0x1030, {{8, {}, 0}, {6, {}, 0}, {4, {}, 0}, {2, {}, 0}}, 0);
  MappedProcess process(target.mapping());
  PathTable table(process, 64);
  EXPECT_EQ(table.length(id), 0u);
  const DecodedPath& path = table.decode(id);
  EXPECT_EQ(table.length(id), 1u);
  EXPECT_EQ(&table[id], &path);
  EXPECT_EQ(path.instructions, 4u);
  EXPECT_EQ(path.fetches, 2u);
  EXPECT_EQ(path.first_line, 0x40u);
  EXPECT_EQ(path.last_line, 0x41u);
  const uint64_t words[] = {id};
  EXPECT_EQ(evaluate(path.references[0], words), 0x40u);
  EXPECT_EQ(evaluate(path.references[1], words), 0x41u);
}

TEST(PathTable, FetchOfALineComesBeforeTheReferencesOfItsInstructions) {
  FakeTarget target;
  const auto load = address_operand(OperandKind::kLoad, 1, 8);
  const uint32_t id = target.add_path(0x103c, {{4, {load}, 0}, {4, {load}, 0}}, 1);
  MappedProcess process(target.mapping());
  PathTable table(process, 64);
  const DecodedPath& path = table.decode(id);
  ASSERT_EQ(path.reference_count, 4u);
  EXPECT_EQ(path.references[0].kind, ReferenceKind::kFetch);
  EXPECT_EQ(path.references[1].kind, ReferenceKind::kLoad);
  EXPECT_EQ(path.references[2].kind, ReferenceKind::kFetch);
  EXPECT_EQ(path.references[3].kind, ReferenceKind::kLoad);
}

TEST(PathTable, RegistersAreNoReferencesAndTellWhereTheirWordsAre) {
  FakeTarget target;
  OperandDescriptor arguments = address_operand(OperandKind::kPrefetch, kNoWord, 8);
  arguments.form = OperandForm::kRegisters;
  arguments.word_b = 1;
  arguments.lanes = 3;
  OperandDescriptor result = arguments;
  result.word_b = 5;
  result.lanes = 1;
  const auto load = address_operand(OperandKind::kLoad, 4, 8);
  const uint32_t id =
      target.add_path(0x103c, {{4, {arguments, load}, 0}, {1, {load, result}, kReturn | kIndirect | kEndsBlock}}, 5);
  const uint32_t plain = target.add_path(0x2000, {{4, {}, kNop}}, 0);
  MappedProcess process(target.mapping());
  PathTable table(process, 64);
  const DecodedPath& path = table.decode(id);
  EXPECT_EQ(path.loads, 2u);
  EXPECT_EQ(path.prefetches, 0u);
  EXPECT_EQ(path.special_count, 0u);
  ASSERT_EQ(path.reference_count, 4u);
  const PathCode code = table.code(id);
  EXPECT_EQ(code.argument_words, 1u);
  EXPECT_EQ(code.result_word, 5u);
  EXPECT_EQ(code.reference_instruction, (std::vector<uint16_t>{0, 0, 1, 1}));
  ASSERT_EQ(code.instructions.size(), 2u);
  EXPECT_EQ(code.instructions[1].pc, 0x1040u);
  EXPECT_EQ(code.instructions[1].flags, kReturn | kIndirect | kEndsBlock);
  table.decode(plain);
  EXPECT_EQ(table.code(plain).argument_words, kNoWord);
  EXPECT_EQ(table.code(plain).result_word, kNoWord);
  // A word that the path does not have.
  target.operand(0).lanes = 6;
  EXPECT_THROW(PathTable(process, 64).decode(id), StreamError);
}

TEST(PathTable, TellsInstructionsOfPathsThatWereNotDecoded) {
  FakeTarget target;
  const uint32_t id = target.add_path(0x103c, {{4, {}, 0}, {2, {}, kEndsBlock}}, 0);
  MappedProcess process(target.mapping());
  const PathTable table(process, 64);
  const std::vector<PathInstruction> instructions = table.instructions(id);
  ASSERT_EQ(instructions.size(), 2u);
  EXPECT_EQ(instructions[1].pc, 0x1040u);
  EXPECT_EQ(instructions[1].length, 2u);
  EXPECT_EQ(instructions[1].flags, kEndsBlock);
  EXPECT_EQ(table.length(id), 0u);
  EXPECT_THROW(table.instructions(id + 1), StreamError);
  target.instruction(1).length = 0;
  EXPECT_THROW(table.instructions(id), StreamError);
}

struct PcSink {
  static constexpr bool kWantsReferences = true, kWantsPc = true;
  std::vector<uint64_t> pcs;
  void fetch(uint32_t, uint64_t, uint64_t pc) { pcs.push_back(pc); }
  void data(uint32_t, ReferenceKind, uint64_t, uint32_t, uint64_t pc) { pcs.push_back(pc); }
};

TEST(PathTable, KnowsTheInstructionOfEachReference) {
  FakeTarget target;
  const auto load = address_operand(OperandKind::kLoad, 1, 8);
  const auto from_fs = address_operand(OperandKind::kStore, kNoWord, 8, 0x28, kNoWord, 0, kFsBase);
  const uint32_t id = target.add_path(0x103c, {{4, {load}, 0}, {4, {load, from_fs}, 0}}, 1);
  MappedProcess process(target.mapping());
  PathTable table(process, 64);
  const DecodedPath& path = table.decode(id);
  ASSERT_EQ(path.reference_count, 4u);
  EXPECT_EQ(path.pcs[0], 0x103cu);
  EXPECT_EQ(path.pcs[1], 0x103cu);
  EXPECT_EQ(path.pcs[2], 0x1040u);
  EXPECT_EQ(path.pcs[3], 0x1040u);
  EXPECT_EQ(path.specials[0].pc, 0x1040u);

  PcSink sink;
  const uint64_t words[] = {id, 0x5000};
  ReplayState thread;
  replay(path, words, thread, sink);
  EXPECT_EQ(sink.pcs, (std::vector<uint64_t>{0x103c, 0x103c, 0x1040, 0x1040, 0x1040}));
}

TEST(PathTable, CountsKindsApart) {
  FakeTarget target;
  const auto of = [](OperandKind kind) { return address_operand(kind, kNoWord, 8, 0x5000); };
  const uint32_t id = target.add_path(0x1000,
                                      {{4, {of(OperandKind::kLoad), of(OperandKind::kStore)}, 0},
                                       {4, {of(OperandKind::kReadModifyWrite)}, 0},
                                       {4, {of(OperandKind::kPrefetch)}, 0},
                                       {4, {of(OperandKind::kFlush)}, 0},
                                       {4, {of(OperandKind::kNonTemporalStore)}, 0}},
                                      0);
  MappedProcess process(target.mapping());
  PathTable table(process, 64);
  const DecodedPath& path = table.decode(id);
  EXPECT_EQ(path.loads, 2u);
  EXPECT_EQ(path.stores, 3u);
  EXPECT_EQ(path.prefetches, 1u);
  EXPECT_EQ(path.flushes, 1u);
}

TEST(PathTable, PrefixesAreTheirOwnPaths) {
  FakeTarget target;
  const auto load = address_operand(OperandKind::kLoad, 1, 8);
  const auto store = address_operand(OperandKind::kStore, 2, 8);
  const uint32_t whole = target.add_path(0x1000, {{4, {load}, 0}, {4, {}, 0}, {4, {store}, 0}}, 2);
  const uint32_t prefix = target.add_prefix(whole, 2, 1);
  MappedProcess process(target.mapping());
  PathTable table(process, 64);
  EXPECT_EQ(table.decode(whole).stores, 1u);
  EXPECT_EQ(table.decode(prefix).instructions, 2u);
  EXPECT_EQ(table.decode(prefix).stores, 0u);
  EXPECT_EQ(table.decode(prefix).words, 1u);
  std::vector<OperandDescriptor> strings;
  EXPECT_EQ(table.decode_prefix(whole, 1, 2, &strings).path.loads, 1u);
  EXPECT_EQ(table.decode_prefix(whole, 0, 0, &strings).path.reference_count, 0u);
  EXPECT_THROW(table.decode_prefix(whole, 3, 2, &strings), StreamError);
}

// Each way to break a descriptor is found before it is used.
class BrokenDescriptor : public testing::Test {
 protected:
  BrokenDescriptor() {
    id_ = target_.add_path(0x1000, {{4, {address_operand(OperandKind::kLoad, 1, 8)}, 0}, {4, {}, 0}}, 1);
  }
  void expect_error() {
    MappedProcess process(target_.mapping());
    PathTable table(process, 64);
    EXPECT_THROW(table.decode(id_), StreamError);
  }
  FakeTarget target_;
  uint32_t id_;
};

TEST_F(BrokenDescriptor, IdOutOfRange) {
  MappedProcess process(target_.mapping());
  PathTable table(process, 64);
  EXPECT_THROW(table.decode(id_ + 1), StreamError);
  EXPECT_THROW(table.decode(0xdeadbeefdeadbeef), StreamError);
  EXPECT_EQ(table.length(0xdeadbeefdeadbeef), 0u);
}
TEST_F(BrokenDescriptor, Superblock) {
  target_.path(id_).superblock = 1u << 30;
  expect_error();
}
TEST_F(BrokenDescriptor, TooManyInstructions) {
  target_.path(id_).instructions = 3;
  expect_error();
}
TEST_F(BrokenDescriptor, NoInstructions) {
  target_.path(id_).instructions = 0;
  expect_error();
}
TEST_F(BrokenDescriptor, OperandsOfAnotherPrefix) {
  target_.path(id_).operands = 0;
  expect_error();
}
TEST_F(BrokenDescriptor, WordBeyondThePath) {
  target_.operand(0).word_a = 2;
  expect_error();
}
TEST_F(BrokenDescriptor, BlockWordAsAddress) {
  target_.operand(0).word_a = 0;
  expect_error();
}
TEST_F(BrokenDescriptor, Shift) {
  target_.operand(0).shift = 4;
  expect_error();
}
TEST_F(BrokenDescriptor, SizeZero) {
  target_.operand(0).size = 0;
  expect_error();
}
TEST_F(BrokenDescriptor, Form) {
  target_.operand(0).form = static_cast<OperandForm>(9);
  expect_error();
}
TEST_F(BrokenDescriptor, Kind) {
  target_.operand(0).kind = static_cast<OperandKind>(9);
  expect_error();
}
TEST_F(BrokenDescriptor, IndexVectorBeyondThePath) {
  target_.operand(0).form = OperandForm::kVectorIndex;
  target_.operand(0).lanes = 8;
  target_.operand(0).index_bytes = 8;
  target_.operand(0).word_b = target_.operand(0).word_c = 1;
  expect_error();
}

}  // namespace
}  // namespace simrun::channel
