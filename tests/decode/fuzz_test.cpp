// Random bytes: whatever they are, decode() stays within them and within its own limits.
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>

#include "instr/engine/decode/instruction.h"
#include "instr/engine/decode/stand_in.h"

namespace simrun::engine {
namespace {

constexpr size_t kPage = 4096;
constexpr AppAddress kPc{0x401000};

// The bytes end where readable memory ends: reading beyond `available` faults.
class PageEnd {
 public:
  PageEnd() {
    memory_ =
        static_cast<uint8_t*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + kPage, kPage, PROT_NONE);
  }
  ~PageEnd() { munmap(memory_, 2 * kPage); }
  uint8_t* place(const uint8_t* bytes, size_t n) {
    std::memcpy(memory_ + kPage - n, bytes, n);
    return memory_ + kPage - n;
  }

 private:
  uint8_t* memory_;
};

void expect_invariants(const Instruction& i, const uint8_t* bytes, size_t available) {
  ASSERT_GE(i.length, 1);
  ASSERT_LE(i.length, 15);
  ASSERT_LE(i.length, available);
  ASSERT_EQ(0, std::memcmp(i.bytes, bytes, i.length));
  ASSERT_LE(i.memory_operands, kMaxMemoryOperands);
  ASSERT_EQ(i.gpr_overwritten & ~i.gpr_written, 0);
  ASSERT_EQ(i.flags_overwritten & ~i.flags_written, 0);
  if (i.distance_dest != kNoRegister) {
    ASSERT_LT(i.distance_dest, 16);
    ASSERT_LT(i.distance_source, 16);
    ASSERT_TRUE(i.gpr_written & bit(i.distance_dest));
    ASSERT_TRUE(i.gpr_read & bit(i.distance_source));
  }
  if (i.memory_operands) {
    ASSERT_TRUE(i.may_fault);
  }
  if (i.rip_relative) {
    ASSERT_EQ(i.bytes[i.modrm_offset] & 0xc7, 5);  // mod 00, rm 101
    ASSERT_EQ(i.disp_offset, i.modrm_offset + 1);
    ASSERT_LE(i.disp_offset + 4, i.length);
  }
  using border::OperandForm;
  for (int m = 0; m < i.memory_operands; ++m) {
    const MemoryOperand& o = i.memory[m];
    const bool base_ok = o.base < 16 || o.base == kNoRegister || (o.base == kRipRegister && i.rip_relative);
    ASSERT_TRUE(base_ok);
    if (o.base < 16) {
      ASSERT_TRUE(i.gpr_read & bit(o.base));
    }
    ASSERT_TRUE(o.index == kNoRegister || o.index < (o.form == OperandForm::kVectorIndex ? 32 : 16));
    if (o.index != kNoRegister && o.form != OperandForm::kVectorIndex) {
      ASSERT_TRUE(i.gpr_read & bit(o.index));
    }
    if (o.bit_offset != kNoRegister) {
      ASSERT_TRUE(i.gpr_read & bit(o.bit_offset));
    }
    ASSERT_LE(o.shift, 3);
    ASSERT_EQ(o.size == 0, o.form == OperandForm::kXsave);
    const bool lanes = o.form == OperandForm::kVectorIndex || o.form == OperandForm::kMasked;
    ASSERT_EQ(lanes, o.lanes != 0);
    if (lanes) {
      ASSERT_LE(o.lanes * o.size, o.form == OperandForm::kMasked ? 64u : 128u);
    }
    if (o.form == OperandForm::kMasked) {
      ASSERT_NE(o.mask_register, kNoRegister);
    }
  }
}

// Prefix bytes that lead into the less dense opcode maps.
void bias(uint8_t* bytes, uint64_t choice) {
  switch (choice % 8) {
    case 1:
      bytes[0] = 0x0f;
      break;
    case 2:
      bytes[0] = 0x66;
      bytes[1] = 0x0f;
      break;
    case 3:
      bytes[0] = static_cast<uint8_t>(0x48 | (bytes[0] & 7));
      bytes[1] = 0x0f;
      break;
    case 4:
      bytes[0] = 0xc4;
      bytes[1] = static_cast<uint8_t>((bytes[1] & 0xe0) | (1 + bytes[1] % 3));
      break;
    case 5:
      bytes[0] = 0x62;
      bytes[1] = static_cast<uint8_t>((bytes[1] & 0xf0) | (1 + bytes[1] % 6));
      bytes[2] |= 4;
      break;
    case 6:
      bytes[0] = 0xf3;
      bytes[1] = 0x0f;
      break;
    default:
      break;
  }
}

TEST(DecodeFuzz, RandomBytesStayWithinLimits) {
  std::mt19937_64 random(20240607);
  PageEnd end;
  int decoded = 0;
  for (int n = 0; n < 1'000'000; ++n) {
    uint8_t bytes[16];
    const uint64_t halves[2] = {random(), random()};
    std::memcpy(bytes, halves, 16);
    const uint64_t choice = random();
    bias(bytes, choice);
    const size_t available = 1 + (choice >> 32) % 16;
    const uint8_t* code = end.place(bytes, available);
    Instruction i;
    if (!decode(code, static_cast<uint32_t>(available), kPc, i)) {
      ASSERT_EQ(i.length, 0);
      ASSERT_EQ(i.flow, Flow::kUnsupported);
      continue;
    }
    ++decoded;
    expect_invariants(i, bytes, available);
    if (testing::Test::HasFatalFailure()) {
      for (int b = 0; b < i.length; ++b) std::printf("%02x", i.bytes[b]);
      std::printf("\n");
      return;
    }
  }
  EXPECT_GT(decoded, 300'000);
}

// A cut-off instruction is no instruction; the same bytes with one more are the same instruction whatever follows.
TEST(DecodeFuzz, LengthDoesNotDependOnWhatFollows) {
  std::mt19937_64 random(7);
  PageEnd end;
  for (int n = 0; n < 200'000; ++n) {
    uint8_t bytes[16];
    const uint64_t halves[2] = {random(), random()};
    std::memcpy(bytes, halves, 16);
    bias(bytes, random());
    Instruction i, again;
    if (!decode(bytes, 16, kPc, i)) continue;
    ASSERT_TRUE(decode(end.place(bytes, i.length), i.length, kPc, again));
    ASSERT_EQ(again.length, i.length);
    ASSERT_FALSE(decode(end.place(bytes, i.length - 1u), i.length - 1u, kPc, again));
  }
}

// decode() uses a constant decoder configuration; Zydis's own initialiser, with MPX off, must understand the same.
TEST(DecodeFuzz, AgreesWithInitialisedZydis) {
  ZydisDecoder reference;
  ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderInit(&reference, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
  ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderEnableMode(&reference, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE)));
  std::mt19937_64 random(99);
  for (int n = 0; n < 300'000; ++n) {
    uint8_t bytes[16];
    const uint64_t halves[2] = {random(), random()};
    std::memcpy(bytes, halves, 16);
    bias(bytes, random());
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    const bool known = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&reference, bytes, 15, &insn, operands));
    StandIn older;
    const bool is_newer = !known && find_stand_in(bytes, 15, older) && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&reference, older.bytes, 15, &insn, operands));
    Instruction i;
    ASSERT_EQ(decode(bytes, 16, kPc, i), known || is_newer);
    if (known || is_newer) {
      ASSERT_EQ(i.length, insn.length);
      ASSERT_EQ(std::memcmp(i.bytes, bytes, i.length), 0);
    }
  }
}

// Of whatever decodes, all but the whole: the processor would fetch more. (That without AVX-512 it would not where EVEX begins is the next test.)
TEST(CutOff, EveryBeginningOfAnInstruction) {
  std::mt19937_64 random(7);
  uint32_t found = 0, evex = 0;
  for (uint32_t round = 0; round < 400'000; ++round) {
    uint8_t bytes[15];
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    if (round % 4 == 0) {   // 62 f1 7c 48: zmm registers
      static constexpr uint8_t kEvex[] = {0x62, 0xf1, 0x7c, 0x48};
      std::memcpy(bytes, kEvex, sizeof kEvex);
    }
    Instruction i;
    if (!decode(bytes, sizeof bytes, kPc, i)) continue;
    ++found;
    evex += bytes[0] == 0x62;
    for (uint32_t n = 0; n < i.length; ++n) ASSERT_TRUE(is_cut_off(bytes, n, true)) << n << " bytes of " << testing::PrintToString(bytes);
  }
  EXPECT_GT(found, 100'000u);
  EXPECT_GT(evex, 1'000u);
}

TEST(CutOff, EvexWhereItIsUnknown) {
  static constexpr uint8_t kCode[] = {0x67, 0x62, 0xf1, 0x7c, 0x48, 0x28};
  for (uint32_t n = 0; n <= sizeof kCode; ++n) {
    EXPECT_TRUE(is_cut_off(kCode, n, true)) << n;
    EXPECT_EQ(is_cut_off(kCode, n, false), n <= 2) << n;   // the prefix, 62: then a ModRM byte decides
  }
}

}  // namespace
}  // namespace simrun::engine
