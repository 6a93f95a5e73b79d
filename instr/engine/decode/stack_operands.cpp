// Implicit references to the stack. Zydis lists them as hidden operands at [rsp] without saying on which side of the
// change of rsp they lie, so they are spelled out here. The address-size prefix does not reach them (SDM vol.
// 1, 6.2.3).
#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {
namespace {

void add_stack(Instruction& out, border::OperandKind kind, uint8_t base, int64_t disp, uint32_t size) {
  MemoryOperand& m = add_memory_operand(out, kind, size);
  m.base = base;
  m.disp = disp;
  m.flags = border::kStack;
}

void push_from(const ZydisView& view, uint32_t size, Instruction& out) {
  const ZydisDecodedOperand& source = view.operands[0];
  if (is_memory(source) && !is_hidden(source))
    set_address(view, source, add_memory_operand(out, border::OperandKind::kLoad, source.size / 8));
  add_stack(out, border::OperandKind::kStore, kRsp, -static_cast<int64_t>(size), size);
}

void pop_to(const ZydisView& view, uint32_t size, Instruction& out) {
  add_stack(out, border::OperandKind::kLoad, kRsp, 0, size);
  const ZydisDecodedOperand& dest = view.operands[0];
  if (!is_memory(dest) || is_hidden(dest)) return;
  MemoryOperand& m = add_memory_operand(out, border::OperandKind::kStore, size);
  set_address(view, dest, m);
  // "If the ESP register is used as a base register for addressing a destination operand in memory, the POP instruction
  // computes the effective address of the operand after it increments the ESP register" (SDM vol. 2, POP).
  if (m.base == kRsp) m.disp += size;
}

// enter size, level: pushes rbp; for level > 1 copies level - 1 frame pointers from below rbp; for level > 0 pushes the
// new frame pointer. Each run of neighbouring slots counts as one reference.
void enter(const ZydisView& view, uint32_t size, Instruction& out) {
  const int64_t level = static_cast<int64_t>(view.operands[1].imm.value.u & 31);
  const int64_t slot = size;
  if (level > 1) {
    const int64_t copied = (level - 1) * slot;
    add_stack(out, border::OperandKind::kLoad, kRbp, -copied, static_cast<uint32_t>(copied));
  }
  const int64_t pushed = (level + 1) * slot;
  add_stack(out, border::OperandKind::kStore, kRsp, -pushed, static_cast<uint32_t>(pushed));
}

}  // namespace

bool decode_stack_operands(const ZydisView& view, Instruction& out) {
  const uint32_t size = view.insn.operand_width / 8;  // 8, or 2 with an operand-size prefix
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
      push_from(view, size, out);
      return true;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
      pop_to(view, size, out);
      return true;
    case ZYDIS_MNEMONIC_CALL:
      push_from(view, size, out);
      return true;
    case ZYDIS_MNEMONIC_RET:
      add_stack(out, border::OperandKind::kLoad, kRsp, 0, size);
      return true;
    case ZYDIS_MNEMONIC_ENTER:
      enter(view, size, out);
      return true;
    case ZYDIS_MNEMONIC_LEAVE:
      add_stack(out, border::OperandKind::kLoad, kRbp, 0, size);
      return true;
    default:
      return false;
  }
}

}  // namespace simrun::engine
