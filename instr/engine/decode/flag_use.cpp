// Flags read, written, overwritten: Zydis's table (which follows the manuals) with its omissions filled in and with the
// cases in which an instruction may leave the flags alone. Undefined flags count as written but not as overwritten:
// processors keep many of them (AMD's imul and bt do), and a program that reads them must see what it sees natively.
#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {
namespace {

constexpr FlagSet kAllFlags = kArithmeticFlags | kDf;

// From rflags bit positions (SDM vol. 1, 3.4.3) to ours.
constexpr FlagSet flag_set(ZydisAccessedFlagsMask rflags) {
  FlagSet set = 0;
  if (rflags & ZYDIS_CPUFLAG_CF) set |= kCf;
  if (rflags & ZYDIS_CPUFLAG_PF) set |= kPf;
  if (rflags & ZYDIS_CPUFLAG_AF) set |= kAf;
  if (rflags & ZYDIS_CPUFLAG_ZF) set |= kZf;
  if (rflags & ZYDIS_CPUFLAG_SF) set |= kSf;
  if (rflags & ZYDIS_CPUFLAG_OF) set |= kOf;
  if (rflags & ZYDIS_CPUFLAG_DF) set |= kDf;
  return set;
}

enum class Effect : uint8_t { kAlways, kSometimes, kNever };

// A count of zero leaves the flags alone (SDM vol. 2, SAL/SAR/SHL/SHR, RCL/RCR/ROL/ROR, SHLD, SHRD).
Effect shift_effect(const ZydisView& view) {
  const int count_index = view.mnemonic() == ZYDIS_MNEMONIC_SHLD || view.mnemonic() == ZYDIS_MNEMONIC_SHRD ? 2 : 1;
  const ZydisDecodedOperand& count = view.operands[count_index];
  if (!is_immediate(count)) return Effect::kSometimes;
  const uint64_t mask = view.insn.operand_width == 64 ? 63 : 31;
  return (count.imm.value.u & mask) ? Effect::kAlways : Effect::kNever;
}

Effect effect_on_flags(const ZydisView& view) {
  if (view.repeats) return Effect::kSometimes;
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
      return shift_effect(view);
    default:
      return Effect::kAlways;
  }
}

// Written beyond what Zydis lists.
FlagSet missing_writes(const ZydisView& view) {
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_VPTEST:  // cleared (SDM vol. 2, PTEST, VTESTPD/VTESTPS)
    case ZYDIS_MNEMONIC_VTESTPS:
    case ZYDIS_MNEMONIC_VTESTPD:
    case ZYDIS_MNEMONIC_TESTUI:  // cleared (SDM vol. 2, TESTUI)
      return kPf | kAf | kSf | kOf | kZf;
    default:
      return 0;
  }
}

// Undefined by the manual, and cleared by every processor: AF by the logical instructions, too frequent to be given away. Listed as
// undefined by Zydis although the manual defines it: AF of sbb.
FlagSet certain_writes(const ZydisView& view) {
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST:
      return kAf;
    default:
      return 0;
  }
}

// Left alone by some processors, or by some forms, although the manual at hand says "written".
FlagSet uncertain_writes(const ZydisView& view) {
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_FCOMI:  // SF, AF and OF: Intel clears them, AMD's manual says "unaffected"
    case ZYDIS_MNEMONIC_FCOMIP:
    case ZYDIS_MNEMONIC_FUCOMI:
    case ZYDIS_MNEMONIC_FUCOMIP:
      return kSf | kAf | kOf;
    default:
      return 0;
  }
}

void note_table(const ZydisView& view, Instruction& out) {
  const ZydisAccessedFlags* flags = view.insn.cpu_flags;
  if (!flags) return;
  out.flags_read = flag_set(flags->tested);
  const FlagSet written =
      flag_set(flags->modified | flags->set_0 | flags->set_1 | flags->undefined) | missing_writes(view);
  const Effect effect = effect_on_flags(view);
  if (effect == Effect::kNever) return;
  out.flags_written = written;
  if (effect != Effect::kAlways) return;
  const FlagSet kept = flag_set(flags->undefined) | uncertain_writes(view);
  out.flags_overwritten = (written & static_cast<FlagSet>(~kept)) | certain_writes(view);
}

}  // namespace

void decode_flag_use(const ZydisView& view, Instruction& out) {
  switch (out.flow) {
    case Flow::kSyscall:  // saved in r11, restored from it
      out.flags_read = kAllFlags;
      return;
    case Flow::kInterrupt:  // a handler sees them all
    case Flow::kUnsupported:
      note_table(view, out);
      out.flags_read = kAllFlags;
      out.flags_overwritten = 0;
      return;
    default:
      note_table(view, out);
  }
  if (view.repeats)
    out.flags_read &= static_cast<FlagSet>(~kZf);  // the termination test looks at the ZF of its own iterations
}

}  // namespace simrun::engine
