// Where an instruction goes next, and what it is to the model and to phase analysis.
#include <algorithm>

#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {
namespace {

// Trap or leave user mode, but Zydis does not call them privileged (or their privilege is another than ring 0's).
bool traps_without_being_privileged(ZydisMnemonic m) {
  switch (m) {
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INTO:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_LGDT:
    case ZYDIS_MNEMONIC_LIDT:
    case ZYDIS_MNEMONIC_RSM:
    case ZYDIS_MNEMONIC_GETSEC:
    case ZYDIS_MNEMONIC_SKINIT:
    case ZYDIS_MNEMONIC_VMRUN:
    case ZYDIS_MNEMONIC_VMLOAD:
    case ZYDIS_MNEMONIC_VMSAVE:
    case ZYDIS_MNEMONIC_STGI:
    case ZYDIS_MNEMONIC_CLGI:
    case ZYDIS_MNEMONIC_VMCALL:
    case ZYDIS_MNEMONIC_VMMCALL:
    case ZYDIS_MNEMONIC_VMFUNC:
    case ZYDIS_MNEMONIC_ENCLV:
    case ZYDIS_MNEMONIC_ENQCMDS:
    case ZYDIS_MNEMONIC_WRUSSD:
    case ZYDIS_MNEMONIC_WRUSSQ:
    case ZYDIS_MNEMONIC_RSTORSSP:  // without shadow stacks #UD; with them the engine would have to know
    case ZYDIS_MNEMONIC_JKZD:      // of the Knights Corner coprocessor; elsewhere #UD
    case ZYDIS_MNEMONIC_JKNZD:
    case ZYDIS_MNEMONIC_XEND:      // outside a transaction #GP, and no transaction ever starts: xbegin is not supported
      return true;
    default:
      return false;
  }
}

bool is_narrow_branch(const ZydisView& view) {
  const auto& insn = view.insn;
  if (!g_narrow_branches || insn.raw.rex.W != 0) return false;
  if (insn.meta.branch_type != ZYDIS_BRANCH_TYPE_SHORT && insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NEAR) return false;
  return std::any_of(insn.raw.prefixes, insn.raw.prefixes + insn.raw.prefix_count, [](const auto& p) { return p.value == 0x66; });
}

bool must_not_be_copied(const ZydisView& view) {
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UIRET:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_ENCLU:  // EENTER, ERESUME transfer control
      return true;
    default:
      return view.insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || is_narrow_branch(view);
  }
}

// Where it goes is not looked at here: so, for readers, indirect.
void describe_far_transfer(const ZydisView& view, Instruction& out) {
  const bool is_iret = view.mnemonic() == ZYDIS_MNEMONIC_IRET || view.mnemonic() == ZYDIS_MNEMONIC_IRETD || view.mnemonic() == ZYDIS_MNEMONIC_IRETQ;
  if (!is_iret && view.insn.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE) return;
  out.descriptor_flags = border::kEndsBlock | border::kIndirect;
  if (is_iret || view.insn.meta.category == ZYDIS_CATEGORY_RET) out.descriptor_flags |= border::kReturn;
  if (view.insn.meta.category == ZYDIS_CATEGORY_CALL) out.descriptor_flags |= border::kCall;
}

void set_direct_target(const ZydisView& view, Instruction& out) {
  out.target = view.next_pc() + view.operands[0].imm.value.s;
}

void decode_conditional(const ZydisView& view, Instruction& out) {
  const bool counted = view.insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && view.insn.opcode >= 0xe0;
  out.flow = counted ? Flow::kCountedJump : Flow::kConditional;
  out.condition = counted ? 0 : view.insn.opcode & 0xf;
  out.descriptor_flags = border::kEndsBlock | border::kConditional;
  set_direct_target(view, out);
}

void decode_jump_or_call(const ZydisView& view, Flow direct, Flow indirect, uint8_t kind, Instruction& out) {
  out.descriptor_flags = border::kEndsBlock | kind;
  if (is_immediate(view.operands[0])) {
    out.flow = direct;
    set_direct_target(view, out);
  } else {
    out.flow = indirect;
    out.descriptor_flags |= border::kIndirect;
  }
}

void decode_return(const ZydisView& view, Instruction& out) {
  out.flow = Flow::kReturn;
  out.descriptor_flags = border::kEndsBlock | border::kReturn | border::kIndirect;
  if (is_immediate(view.operands[0])) out.return_pop = static_cast<uint16_t>(view.operands[0].imm.value.u);
}

bool is_nop(const ZydisView& view) {
  return view.mnemonic() == ZYDIS_MNEMONIC_NOP || view.mnemonic() == ZYDIS_MNEMONIC_ENDBR64 ||
         view.mnemonic() == ZYDIS_MNEMONIC_ENDBR32;
}

}  // namespace

bool always_traps(const ZydisView& view) {
  return (view.insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) || traps_without_being_privileged(view.mnemonic());
}

void decode_control_flow(const ZydisView& view, Instruction& out) {
  out.flow = Flow::kNext;
  if (view.repeats) out.descriptor_flags = border::kRepeats;
  if (is_nop(view)) out.descriptor_flags = border::kNop;
  if (must_not_be_copied(view)) {
    out.flow = Flow::kUnsupported;
    describe_far_transfer(view, out);
    return;
  }
  if (view.mnemonic() == ZYDIS_MNEMONIC_SYSCALL) {
    out.flow = Flow::kSyscall;
    out.descriptor_flags = border::kSyscallGate;
    return;
  }
  if (always_traps(view)) {
    out.flow = Flow::kInterrupt;
    const bool gate = view.mnemonic() == ZYDIS_MNEMONIC_INT || view.mnemonic() == ZYDIS_MNEMONIC_SYSENTER;
    if (gate) out.descriptor_flags = border::kSyscallGate;
    return;
  }
  switch (view.insn.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return decode_conditional(view, out);
    case ZYDIS_CATEGORY_UNCOND_BR:
      return decode_jump_or_call(view, Flow::kJump, Flow::kIndirectJump, 0, out);
    case ZYDIS_CATEGORY_CALL:
      return decode_jump_or_call(view, Flow::kCall, Flow::kIndirectCall, border::kCall, out);
    case ZYDIS_CATEGORY_RET:
      return decode_return(view, out);
    default:
      return;
  }
}

}  // namespace simrun::engine
