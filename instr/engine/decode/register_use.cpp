// General-purpose registers read, written, overwritten.
//
// A mistake here corrupts the application: the engine keeps its own values in registers that it believes dead. So a
// register is left out of `gpr_read`, and put into `gpr_overwritten`, only where that is certain; tests/decode runs
// each claim on the processor.
#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {
namespace {

constexpr GprSet kAllRegisters = 0xffff;

// dest op dest is the same whatever dest holds (flags included; sbb still depends on CF).
bool is_independent_of_equal_sources(const ZydisView& view) {
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_CMP:
      return is_register(view.operands[0]) && is_register(view.operands[1]) &&
             view.operands[0].reg.value == view.operands[1].reg.value;
    default:
      return false;
  }
}

// The destination may keep its old value although Zydis lists it as written.
bool may_leave_destination(ZydisMnemonic m) {
  switch (m) {
    case ZYDIS_MNEMONIC_BSF:  // source zero
    case ZYDIS_MNEMONIC_BSR:
    case ZYDIS_MNEMONIC_TZCNT:  // executes as bsf, bsr on processors without BMI1, LZCNT
    case ZYDIS_MNEMONIC_LZCNT:
    case ZYDIS_MNEMONIC_LAR:
    case ZYDIS_MNEMONIC_LSL:
    case ZYDIS_MNEMONIC_SLDT:  // the kernel emulates these under user-mode instruction prevention, and writes 2 bytes
                               // of a register
    case ZYDIS_MNEMONIC_SMSW:  // (arch/x86/kernel/umip.c)
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_RDSSPD:  // a nop unless shadow stacks are on
    case ZYDIS_MNEMONIC_RDSSPQ:
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
      return true;
    default:
      return false;
  }
}

void note_register(const ZydisView& view, const ZydisDecodedOperand& o, bool ignore_reads, Instruction& out) {
  const GprPart part = gpr_part(o.reg.value);
  if (!part.bytes) return;
  const GprSet b = bit(part.number);
  if ((o.actions & ZYDIS_OPERAND_ACTION_MASK_READ) && !ignore_reads) out.gpr_read |= b;
  if (!(o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) return;
  out.gpr_written |= b;
  const bool unconditional = !(o.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) && !may_leave_destination(view.mnemonic());
  if (part.bytes >= 4 && unconditional) out.gpr_overwritten |= b;
}

GprSet address_registers(const ZydisDecodedOperand& o) {
  GprSet set = 0;
  if (const GprPart base = gpr_part(o.mem.base); base.bytes) set |= bit(base.number);
  if (const GprPart index = gpr_part(o.mem.index); index.bytes) set |= bit(index.number);
  return set;
}

void note_operands(const ZydisView& view, Instruction& out) {
  // A nop names registers but reads none.
  if (view.mnemonic() == ZYDIS_MNEMONIC_NOP) return;
  const bool ignore_reads = is_independent_of_equal_sources(view);
  for (const ZydisDecodedOperand& o : view) {
    if (is_register(o)) note_register(view, o, ignore_reads, out);
    if (is_memory(o)) out.gpr_read |= address_registers(o);
  }
}

// Zydis forgets the index registers of some string instructions; the accumulator's width is as the operands say.
void note_string_registers(const ZydisView& view, Instruction& out) {
  const uint8_t opcode = view.insn.opcode & 0xfe;
  const bool io = opcode == 0x6c || opcode == 0x6e;
  const bool source = opcode == 0xa4 || opcode == 0xa6 || opcode == 0xac || opcode == 0x6e;
  const bool destination = opcode == 0xa4 || opcode == 0xa6 || opcode == 0xaa || opcode == 0xae || opcode == 0x6c;
  GprSet pointers = 0;
  if (source) pointers |= bit(kRsi);
  if (destination) pointers |= bit(kRdi);
  if (view.repeats) pointers |= bit(kRcx);
  out.gpr_read = pointers;
  out.gpr_written = pointers;
  out.gpr_overwritten = view.repeats ? 0 : pointers;  // with a count of zero nothing is written
  if (io) out.gpr_read |= bit(kRdx);
  if (opcode == 0xaa || opcode == 0xae) out.gpr_read |= bit(kRax);
  if (opcode != 0xac) return;
  out.gpr_written |= bit(kRax);
  if (view.insn.operand_width >= 32 && !view.repeats) out.gpr_overwritten |= bit(kRax);
}

// What Zydis's lists of operands lack or get wrong.
void correct(const ZydisView& view, Instruction& out) {
  const bool wide = view.insn.operand_width == 64;
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_XLAT:
      out.gpr_read |= bit(kRax) | bit(kRbx);
      return;
    case ZYDIS_MNEMONIC_ENTER:
      out.gpr_overwritten = wide ? bit(kRsp) | bit(kRbp) : bit(kRsp);
      return;
    case ZYDIS_MNEMONIC_LEAVE:
      out.gpr_read = bit(kRbp);
      out.gpr_written = bit(kRsp) | bit(kRbp);
      out.gpr_overwritten = wide ? bit(kRsp) | bit(kRbp) : bit(kRsp);
      return;
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
      out.gpr_read |= bit(kRax) | bit(kRdx) | bit(kRbx) | bit(kRcx);
      return;
    case ZYDIS_MNEMONIC_PAUSE:  // with REX.B the processor executes f3 90 as xchg r8, rax
      if (!view.insn.raw.rex.B || !(view.insn.attributes & ZYDIS_ATTRIB_HAS_REX)) return;
      out.gpr_read |= bit(kRax) | bit(kR8);
      out.gpr_written |= bit(kRax) | bit(kR8);
      return;
    case ZYDIS_MNEMONIC_MWAITX:
      out.gpr_read |= bit(kRax) | bit(kRbx) | bit(kRcx);
      return;
    case ZYDIS_MNEMONIC_CLZERO:
      out.gpr_read |= bit(kRax);
      return;
    case ZYDIS_MNEMONIC_CPUID:
      out.gpr_read |= bit(kRax) | bit(kRcx);
      return;
    case ZYDIS_MNEMONIC_CLUI:  // without user interrupts the processor ignores f3 and executes rdpkru
    case ZYDIS_MNEMONIC_STUI:  // and wrpkru
      out.gpr_read |= bit(kRax) | bit(kRcx) | bit(kRdx);
      out.gpr_written |= bit(kRax) | bit(kRdx);
      return;
    default:
      return;
  }
}

// The kernel may read and, through ptrace, clone or a signal frame, show every register; it returns the result in rax,
// and the syscall instruction itself leaves rip in rcx and rflags in r11.
void note_syscall(Instruction& out) {
  out.gpr_read = kAllRegisters;
  out.gpr_written = out.gpr_overwritten = bit(kRax) | bit(kRcx) | bit(kR11);
}

// A handler or the 32-bit system-call entry sees all and may change what it likes; the engine runs these in place with
// everything live.
void note_trap(Instruction& out) {
  out.gpr_read = kAllRegisters;
  out.gpr_written |= bit(kRax) | bit(kR8) | bit(kR9) | bit(kR10) | bit(kR11);
  out.gpr_overwritten = 0;
}

bool is_vector_state(ZydisRegister r) {
  return (r >= ZYDIS_REGISTER_ST0 && r <= ZYDIS_REGISTER_TMM7) || (r >= ZYDIS_REGISTER_K0 && r <= ZYDIS_REGISTER_K7) ||
         r == ZYDIS_REGISTER_MXCSR;
}

bool touches_vector_state(const ZydisView& view) {
  switch (view.insn.meta.isa_ext) {
    case ZYDIS_ISA_EXT_X87:
    case ZYDIS_ISA_EXT_MMX:
    case ZYDIS_ISA_EXT_AVX:  // vzeroupper and vzeroall have no operands
      return true;
    default:
      break;
  }
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_FEMMS:
      return true;
    default:
      break;
  }
  for (const ZydisDecodedOperand& o : view)
    if (is_register(o) && is_vector_state(o.reg.value)) return true;
  return false;
}

bool uses_xsave_area(const Instruction& out) {
  for (int i = 0; i < out.memory_operands; ++i)
    if (out.memory[i].form == border::OperandForm::kXsave) return true;
  return false;
}

bool stores_fpu_pointer(const ZydisView& view, const Instruction& out) {
  const ZydisMnemonic m = view.mnemonic();
  const bool saves = uses_xsave_area(out) && out.memory[0].kind == border::OperandKind::kStore;
  return saves || m == ZYDIS_MNEMONIC_FNSTENV || m == ZYDIS_MNEMONIC_FNSAVE || m == ZYDIS_MNEMONIC_FXSAVE || m == ZYDIS_MNEMONIC_FXSAVE64;
}

}  // namespace

void decode_register_use(const ZydisView& view, Instruction& out) {
  out.vector_state = touches_vector_state(view) || uses_xsave_area(out);
  out.stores_fpu_pointer = stores_fpu_pointer(view, out);
  note_operands(view, out);
  if (view.string) return note_string_registers(view, out);
  if (out.flow == Flow::kSyscall) return note_syscall(out);
  if (out.flow == Flow::kInterrupt || out.flow == Flow::kUnsupported) return note_trap(out);
  correct(view, out);
}

}  // namespace simrun::engine
