#include "tests/decode/random_instruction.h"

#include <cstring>

#include "tests/decode/claimed_references.h"

namespace simrun::engine {
namespace {

// Would change what the test itself lives on (segment bases, protection keys, trap flag), wait, or leave user mode.
bool is_excluded(const ZydisDecodedInstruction& insn, const ZydisDecodedOperand* operands) {
  switch (insn.mnemonic) {
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_LFS:
    case ZYDIS_MNEMONIC_LGS:
    case ZYDIS_MNEMONIC_LSS:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_WRPKRU:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_TPAUSE:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
      return true;
    default:
      break;
  }
  // AMD's processors truncate rip to 16 bits, Intel's ignore the prefix; the decoder follows Intel.
  if (insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && (insn.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)) return true;
  for (int o = 0; o < insn.operand_count; ++o) {
    const ZydisDecodedOperand& operand = operands[o];
    const bool segment = operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value >= ZYDIS_REGISTER_ES &&
                         operand.reg.value <= ZYDIS_REGISTER_GS;
    if (segment && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) return true;
  }
  return false;
}

bool is_deterministic(ZydisMnemonic m) {
  switch (m) {
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_RDPRU:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_CPUID:
      return false;
    default:
      return true;
  }
}

FlagSet undefined_flags(const ZydisDecodedInstruction& insn) {
  const ZydisAccessedFlagsMask u = insn.cpu_flags ? insn.cpu_flags->undefined : 0;
  FlagSet set = 0;
  if (u & ZYDIS_CPUFLAG_CF) set |= kCf;
  if (u & ZYDIS_CPUFLAG_PF) set |= kPf;
  if (u & ZYDIS_CPUFLAG_AF) set |= kAf;
  if (u & ZYDIS_CPUFLAG_ZF) set |= kZf;
  if (u & ZYDIS_CPUFLAG_SF) set |= kSf;
  if (u & ZYDIS_CPUFLAG_OF) set |= kOf;
  return set;
}

void note_broadcast(const ZydisDecodedInstruction& insn, const ZydisDecodedOperand* operands, Sample& s) {
  s.broadcast_mask = kNoRegister;
  if (insn.avx.broadcast.mode == ZYDIS_BROADCAST_MODE_INVALID || insn.avx.mask.reg < ZYDIS_REGISTER_K1 ||
      insn.avx.mask.reg > ZYDIS_REGISTER_K7)
    return;
  s.broadcast_mask = static_cast<uint8_t>(insn.avx.mask.reg - ZYDIS_REGISTER_K0);
  for (int o = 0; o < insn.operand_count;
       ++o) {  // the vector with the fewest elements: narrowing conversions fill half of theirs
    const uint64_t lanes = operands[o].element_count;
    const bool vector = operands[o].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                        operands[o].reg.value >= ZYDIS_REGISTER_XMM0 && operands[o].reg.value <= ZYDIS_REGISTER_ZMM31;
    if (vector && lanes < 64) s.broadcast_bits |= (uint64_t{1} << lanes) - 1;
  }
  if (!s.broadcast_bits) s.broadcast_bits = ~uint64_t{0};
}

// Leads into each opcode map and prefers addressing with an 8-bit displacement or none.
void shape(uint8_t* b, uint64_t choice) {
  int at = 0;
  if (choice % 16 == 15) b[at++] = 0x66;
  if ((choice >> 4) % 16 == 15) b[at++] = 0xf3;
  if ((choice >> 8) % 16 == 15) b[at++] = 0x67;
  if ((choice >> 12) % 32 == 31) b[at++] = 0x64;
  switch ((choice >> 20) % 12) {
    case 0:
      b[at] = static_cast<uint8_t>(0x40 | (b[at] & 15)), at += 1;
      break;
    case 1:
      b[at++] = 0x0f;
      break;
    case 2:
      b[at++] = 0x66, b[at++] = 0x0f;
      break;
    case 3:
      b[at] = static_cast<uint8_t>(0x48 | (b[at] & 7)), b[at + 1] = 0x0f, at += 2;
      break;
    case 4:
      b[at++] = 0xc4, b[at] = static_cast<uint8_t>((b[at] & 0xe0) | (1 + b[at] % 3)), at += 1;
      break;
    case 5:
    case 6:
    case 7:
      b[at++] = 0x62, b[at] = static_cast<uint8_t>((b[at] & 0xf0) | (1 + b[at] % 3)), b[at + 1] |= 4, at += 1;
      break;
    case 8:
      b[at++] = 0xf3, b[at++] = 0x0f;
      break;
    case 9:
      b[at++] = 0xf2, b[at++] = 0x0f;
      break;
    case 10:
      b[at++] = 0x0f, b[at++] = choice & 1 ? 0x38 : 0x3a;
      break;
    default:
      break;
  }
}

// Jumps to the next instruction.
bool disarm_jump(Instruction& i) {
  if (i.flow == Flow::kNext) return true;
  if (i.flow != Flow::kConditional && i.flow != Flow::kCountedJump && i.flow != Flow::kCall && i.flow != Flow::kJump)
    return false;
  const bool near = i.flow == Flow::kCall || i.bytes[i.length - 5] == 0xe9 ||
                    (i.length >= 6 && i.bytes[i.length - 6] == 0x0f && (i.bytes[i.length - 5] & 0xf0) == 0x80 &&
                     i.flow == Flow::kConditional);
  std::memset(i.bytes + i.length - (near ? 4 : 1), 0, near ? 4 : 1);
  return true;
}

const ZydisDecoder& decoder() {
  static const ZydisDecoder d = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&made, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
    return made;
  }();
  return d;
}

}  // namespace

std::string Sample::name() const {
  std::string s;
  char hex[3];
  for (int b = 0; b < instruction.length; ++b) {
    std::snprintf(hex, sizeof hex, "%02x", instruction.bytes[b]);
    s += hex;
  }
  return s + " " + ZydisMnemonicGetString(mnemonic);
}

Sample RandomInstructions::next() {
  for (;;) {
    uint8_t bytes[16];
    const uint64_t halves[2] = {random_(), random_()};
    std::memcpy(bytes, halves, 16);
    shape(bytes, random_());
    Sample s{};
    if (!decode(bytes, 16, pc_, s.instruction) || !disarm_jump(s.instruction)) continue;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), bytes, 15, &insn, operands))) continue;
    if (is_excluded(insn, operands)) continue;
    s.mnemonic = insn.mnemonic;
    s.undefined_flags = undefined_flags(insn);
    note_broadcast(insn, operands, s);
    s.deterministic = is_deterministic(insn.mnemonic);
    return s;
  }
}

uint64_t RandomInstructions::interesting_number() {
  switch (below(6)) {
    case 0:
      return below(256);
    case 1:
      return 0;
    case 2:
      return ~below(256);
    case 3:
      return uint64_t{1} << below(64);
    default:
      return random_();
  }
}

void RandomInstructions::randomize(const Sample& sample, MachineState& state) {
  for (uint64_t& g : state.gpr) g = interesting_number();
  for (auto& v : state.zmm)
    for (size_t b = 0; b < v.size(); b += 8) {
      const uint64_t x = below(4) ? random_() : 0;
      std::memcpy(&v[b], &x, 8);
    }
  for (uint64_t& k : state.k) k = below(4) ? random_() : ~uint64_t{0} * below(2);
  state.flags = 0x202 | (random_() & 0xcd5);  // CF PF AF ZF SF DF OF
  state.gpr[kRsp] = kWritable + kPageBytes + 8 * below(64);
  const Instruction& i = sample.instruction;
  if (i.descriptor_flags & border::kRepeats) {
    // Comparing instructions stop where they differ; with a count of one it does not matter.
    const bool compares = i.flags_written != 0;
    state.gpr[kRcx] = below(compares ? 2 : 4) | (i.memory[0].flags & border::kAddress32 ? random_() << 32 : 0);
  }
  for (int m = 0; m < i.memory_operands; ++m) {
    const MemoryOperand& o = i.memory[m];
    if (o.form != border::OperandForm::kVectorIndex) continue;
    for (size_t lane = 0; lane < 64u / o.index_bytes; ++lane) {
      const int64_t index = static_cast<int64_t>(below(200)) - 100;
      std::memcpy(&state.zmm[o.index][lane * o.index_bytes], &index, o.index_bytes);
    }
  }
}

bool RandomInstructions::aim_operand(Sample& sample, int operand, uint64_t target, MachineState& state) {
  Instruction& i = sample.instruction;
  MemoryOperand& o = i.memory[operand];
  const bool vector = o.form == border::OperandForm::kVectorIndex;
  const uint64_t delta = target - operand_address(o, state, fs_base_);
  if (o.base == kRipRegister) {
    const int64_t moved = o.disp + static_cast<int64_t>(delta) - static_cast<int64_t>(raw(pc_ + i.length));
    const int32_t disp = static_cast<int32_t>(moved);
    if (disp != moved) return false;
    std::memcpy(i.bytes + i.disp_offset, &disp, 4);
    const Instruction before = i;
    return decode(before.bytes, before.length, pc_, i);
  }
  if (o.base < 16) {
    const uint64_t weight = 1 + (!vector && o.index == o.base ? uint64_t{1} << o.shift : 0);
    state.gpr[o.base] += static_cast<uint64_t>(static_cast<int64_t>(delta) / static_cast<int64_t>(weight));
  } else if (!vector && o.index < 16) {
    state.gpr[o.index] += static_cast<uint64_t>(static_cast<int64_t>(delta) >> o.shift);
  }
  return true;
}

uint64_t extent(const MemoryOperand& o) { return o.form == border::OperandForm::kMasked ? o.lanes * o.size : o.size; }

}  // namespace simrun::engine
