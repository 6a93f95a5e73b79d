#include "instr/channel/special_operands.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "base/tile_configuration.h"
#include "instr/channel/counting_sink.h"
#include "instr/channel/merge.h"
#include "tests/channel/fake_target.h"
#include "tests/channel/recording_sink.h"

namespace simrun::channel {
namespace {

using namespace border;

// Runs one instruction with `operands` once over `words` and returns its data references.
struct Executed {
  std::vector<Recorded> references;
  ThreadStatistics statistics;
};

Executed run(const std::vector<OperandDescriptor>& operands, std::vector<uint64_t> words, uint64_t fs = 0) {
  FakeTarget target;
  const uint32_t id = target.add_path(0x1000, {{4, operands, 0}}, static_cast<uint16_t>(words.size()));
  Producer producer(target, 0, 1);
  producer.start(~0u, fs);
  words.insert(words.begin(), id);
  producer.put(words.data(), words.size());
  producer.end();
  MappedProcess process(target.mapping());
  RecordingSink sink;
  sink.fetches = false;
  Merge<RecordingSink> merge(process, sink, {});
  while (merge.advance(false) != Status::kFinished) {
  }
  return {sink.all, merge.reports().at(0).statistics};
}

Recorded load(uint64_t address, uint32_t bytes) { return {0, ReferenceKind::kLoad, address, bytes}; }
Recorded store(uint64_t address, uint32_t bytes) { return {0, ReferenceKind::kStore, address, bytes}; }

OperandDescriptor string_operand(OperandKind kind, uint16_t a, uint16_t b, uint16_t c, uint32_t size) {
  OperandDescriptor o = address_operand(kind, a, size, 0, b);
  o.form = OperandForm::kRepeatString;
  o.word_c = c;
  return o;
}

TEST(PlainOperand, SumsWordsShiftAndDisplacement) {
  const auto o = address_operand(OperandKind::kLoad, 1, 8, -16, 2, 3);
  EXPECT_EQ(run({o}, {0x10000, 0x20}).references, std::vector{load(0x10000 + 0x20 * 8 - 16, 8)});
}

TEST(PlainOperand, AbsentWordsContributeNothing) {
  EXPECT_EQ(run({address_operand(OperandKind::kStore, kNoWord, 4, 0x7fff12345678)}, {}).references,
            std::vector{store(0x7fff12345678, 4)});
  EXPECT_EQ(run({address_operand(OperandKind::kLoad, kNoWord, 4, 64, 1, 2)}, {0x100}).references,
            std::vector{load(0x440, 4)});
}

TEST(SegmentOperand, AddsTheBaseOfTheThread) {
  const auto o = address_operand(OperandKind::kLoad, kNoWord, 8, 0x28, kNoWord, 0, kFsBase);
  EXPECT_EQ(run({o}, {}, 0x7f0000001000).references, std::vector{load(0x7f0000001028, 8)});
}

TEST(SegmentOperand, TruncatesTheEffectiveAddressBeforeTheBase) {
  const auto o = address_operand(OperandKind::kLoad, 1, 4, 0x10, kNoWord, 0, kFsBase | kAddress32);
  EXPECT_EQ(run({o}, {0x5'fffffff8}, 0x1'00000000).references, std::vector{load(0x1'00000008, 4)});
}

TEST(RepeatString, MovsAlternatesAndCountsIterations) {
  const auto outcome =
      run({string_operand(OperandKind::kLoad, 1, 2, 3, 8), string_operand(OperandKind::kStore, 2, 2, 3, 8)},
          {0x1000, 0x2000, 0x2010});
  EXPECT_EQ(outcome.references, (std::vector{load(0x1000, 8), store(0x2000, 8), load(0x1008, 8), store(0x2008, 8)}));
  EXPECT_EQ(outcome.statistics.string_iterations, 2u);
  EXPECT_EQ(outcome.statistics.instructions, 1u);
  EXPECT_EQ(outcome.statistics.loads, 2u);
  EXPECT_EQ(outcome.statistics.stores, 2u);
}

TEST(RepeatString, RunsDownwardsWhenTheRegisterDid) {
  EXPECT_EQ(run({string_operand(OperandKind::kStore, 1, 1, 2, 4)}, {0x2008, 0x1ffc}).references,
            (std::vector{store(0x2008, 4), store(0x2004, 4), store(0x2000, 4)}));
}

TEST(RepeatString, CountOfZeroTouchesNothing) {
  const auto outcome = run({string_operand(OperandKind::kStore, 1, 1, 2, 1)}, {0x2000, 0x2000});
  EXPECT_TRUE(outcome.references.empty());
  EXPECT_EQ(outcome.statistics.instructions, 1u);
}

TEST(RepeatString, GarbageRegistersAreAnErrorNotAnEndlessLoop) {
  EXPECT_THROW(run({string_operand(OperandKind::kStore, 1, 1, 2, 1)}, {0x2000, 0x7f00'0000'0000'0000}), StreamError);
}

TEST(VectorIndex, OneReferencePerActiveLaneByBitMask) {
  OperandDescriptor o = address_operand(OperandKind::kLoad, 1, 4, 8, 2, 2);
  o.form = OperandForm::kVectorIndex;
  o.lanes = 4;
  o.index_bytes = 4;
  o.word_c = 4;
  // Indices 1, -1, 5, 7; lanes 0, 1 and 3.
  EXPECT_EQ(run({o}, {0x1000, 0xffffffff'00000001, 0x00000007'00000005, 0b1011}).references,
            (std::vector{load(0x100c, 4), load(0x1004, 4), load(0x1024, 4)}));
}

TEST(VectorIndex, MaskByTopBitsOfAVector) {
  OperandDescriptor o = address_operand(OperandKind::kLoad, 1, 8, 0, 2, 0);
  o.form = OperandForm::kVectorIndex;
  o.lanes = 2;
  o.index_bytes = 8;
  o.mask_lane = 8;
  o.word_c = 4;
  EXPECT_EQ(run({o}, {0x1000, 0x10, 0x20, 0x7fffffffffffffff, 0x8000000000000000}).references,
            std::vector{load(0x1020, 8)});
}

TEST(Masked, NeighbouringLanesAreOneReference) {
  OperandDescriptor o = address_operand(OperandKind::kStore, 1, 4, 0);
  o.form = OperandForm::kMasked;
  o.lanes = 16;
  o.word_c = 2;
  EXPECT_EQ(run({o}, {0x1000, 0b1000'0000'0110'0001}).references,
            (std::vector{store(0x1000, 4), store(0x1014, 8), store(0x103c, 4)}));
  EXPECT_EQ(run({o}, {0x1000, 0xffff}).references, std::vector{store(0x1000, 64)});
  EXPECT_TRUE(run({o}, {0x1000, 0}).references.empty());
}

TEST(Masked, ByteMaskOfMaskmovdqu) {
  OperandDescriptor o = address_operand(OperandKind::kNonTemporalStore, 1, 1, 0);
  o.form = OperandForm::kMasked;
  o.lanes = 16;
  o.mask_lane = 1;
  o.word_c = 2;
  const auto outcome = run({o}, {0x1000, 0x0000'0000'0000'8080, 0x8000'0000'0000'0000});
  EXPECT_EQ(outcome.references, (std::vector{Recorded{0, ReferenceKind::kNonTemporalStore, 0x1000, 2},
                                             Recorded{0, ReferenceKind::kNonTemporalStore, 0x100f, 1}}));
  EXPECT_EQ(outcome.statistics.stores, 2u);
}

TEST(Xsave, LegacyAreaThenSelectedComponents) {
  OperandDescriptor o = address_operand(OperandKind::kStore, 1, 0);
  o.form = OperandForm::kXsave;
  o.word_c = 2;
  const auto none = run({o}, {0x1000, 3, 0}).references;
  EXPECT_EQ(none, std::vector{store(0x1000, 576)});
  std::vector<Recorded> all{store(0x1000, 576)};
  for (const auto& component : xsave_components()) all.push_back(store(0x1000 + component.offset, component.bytes));
  EXPECT_EQ(run({o}, {0x1000, 0xffffffff, 0xffffffff}).references, all);
}

TEST(Tile, RowsThatItsConfigurationLeaves) {
  OperandDescriptor o = address_operand(OperandKind::kStore, 1, 64, 16, 2, 2);
  o.form = OperandForm::kTile;
  o.lanes = 3;
  o.word_c = 3;
  const auto run_configured = [&](uint8_t first, uint8_t rows, uint16_t bytes) {
    unsigned char configuration[64] = {1, first};
    std::memset(configuration + 16, 0x77, 48);   // the other tiles'
    std::memcpy(configuration + 16 + 2 * 3, &bytes, 2);
    configuration[48 + 3] = rows;
    std::vector<uint64_t> words{0x1000, 0x20};
    words.resize(2 + kTileWords);
    std::memcpy(words.data() + 2, configuration, sizeof configuration);
    return run({o}, words).references;
  };
  EXPECT_EQ(run_configured(0, 3, 48), (std::vector{store(0x1010, 48), store(0x1090, 48), store(0x1110, 48)}));
  EXPECT_EQ(run_configured(2, 3, 4), (std::vector{store(0x1110, 4)})) << "two were done before a fault";
  EXPECT_TRUE(run_configured(0, 0, 0).empty());
  EXPECT_TRUE(run_configured(0, 16, 0).empty());
  EXPECT_EQ(run_configured(0, 200, 5000).size(), 16u);
  EXPECT_EQ(run_configured(15, 200, 5000), std::vector{store(0x1010 + 15 * 0x80, 64)});
  o.word_b = kNoWord;
  EXPECT_EQ(run_configured(0, 2, 64), (std::vector{store(0x1010, 64), store(0x1010, 64)})) << "rows at no distance";
}

TEST(SpecialOperands, StayInProgramOrderAmongPlainOnes) {
  const auto before = address_operand(OperandKind::kLoad, 1, 8);
  const auto middle = address_operand(OperandKind::kReadModifyWrite, kNoWord, 8, 0x10, kNoWord, 0, kFsBase);
  const auto after = address_operand(OperandKind::kStore, 1, 8, 8);
  const auto outcome = run({before, middle, after}, {0x3000}, 0x9000);
  EXPECT_EQ(outcome.references,
            (std::vector{load(0x3000, 8), Recorded{0, ReferenceKind::kReadModifyWrite, 0x9010, 8}, store(0x3008, 8)}));
  EXPECT_EQ(outcome.statistics.loads, 2u);
  EXPECT_EQ(outcome.statistics.stores, 2u);
}

TEST(ModifiedOperand, BitOffsetMovesTheAddressByWholeOperands) {
  OperandDescriptor o = address_operand(OperandKind::kLoad, 1, 4, 8);
  o.modifier = OperandModifier::kBitOffset;
  o.word_c = 2;
  EXPECT_EQ(run({o}, {0x1000, 31}).references, std::vector{load(0x1008, 4)});
  EXPECT_EQ(run({o}, {0x1000, 32}).references, std::vector{load(0x100c, 4)});
  EXPECT_EQ(run({o}, {0x1000, 0xffffffff}).references, std::vector{load(0x1004, 4)}) << "a 32-bit offset of -1";
  o.size = 8;
  EXPECT_EQ(run({o}, {0x1000, ~uint64_t{0} - 63}).references, std::vector{load(0x1000, 8)}) << "bit -64";
}

TEST(ModifiedOperand, ByteIndexIsTheLowestByte) {
  OperandDescriptor o = address_operand(OperandKind::kLoad, 1, 1, 0, 2);
  o.modifier = OperandModifier::kByteIndex;
  EXPECT_EQ(run({o}, {0x1000, 0x12345681}).references, std::vector{load(0x1081, 1)});
}

TEST(ModifiedOperand, PackedLanesHaveNoGaps) {
  OperandDescriptor o = address_operand(OperandKind::kStore, 1, 4);
  o.form = OperandForm::kMasked;
  o.modifier = OperandModifier::kPacked;
  o.lanes = 16;
  o.word_c = 2;
  EXPECT_EQ(run({o}, {0x1000, 0b1010'0001'0000'0001}).references, std::vector{store(0x1000, 16)});
}

}  // namespace
}  // namespace simrun::channel
