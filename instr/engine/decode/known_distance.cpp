// The one register, if any, whose new 64-bit value lies at a known distance from a 64-bit register's old one. The
// tracer uses it to let several references share one recorded address, so a wrong distance is a wrong address: only
// full-width cases count.
#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {
namespace {

void set(Instruction& out, uint8_t dest, uint8_t source, int64_t delta) {
  out.distance_dest = dest;
  out.distance_source = source;
  out.distance_delta = delta;
}

// Number of the 64-bit register that operand `o` is, or kNoRegister.
uint8_t full_register(const ZydisDecodedOperand& o) {
  if (!is_register(o)) return kNoRegister;
  const GprPart part = gpr_part(o.reg.value);
  return part.bytes == 8 ? part.number : kNoRegister;
}

void note_lea(const ZydisView& view, Instruction& out) {
  const auto& mem = view.operands[1].mem;
  if (full_register(view.operands[0]) == kNoRegister || view.insn.address_width != 64) return;
  const GprPart base = gpr_part(mem.base);
  const GprPart index = gpr_part(mem.index);
  const int64_t disp = mem.disp.has_displacement ? mem.disp.value : 0;
  if (base.bytes == 8 && !index.bytes) set(out, full_register(view.operands[0]), base.number, disp);
  const bool index_alone = mem.base == ZYDIS_REGISTER_NONE && index.bytes == 8 && mem.scale == 1;
  if (index_alone) set(out, full_register(view.operands[0]), index.number, disp);
}

void note_step(const ZydisView& view, int64_t delta, Instruction& out) {
  const uint8_t r = full_register(view.operands[0]);
  if (r != kNoRegister) set(out, r, r, delta);
}

void note_mov(const ZydisView& view, Instruction& out) {
  const uint8_t dest = full_register(view.operands[0]);
  const uint8_t source = full_register(view.operands[1]);
  if (dest != kNoRegister && source != kNoRegister) set(out, dest, source, 0);
}

void note_pop(const ZydisView& view, int64_t size, Instruction& out) {
  const ZydisDecodedOperand& dest = view.operands[0];
  const bool into_rsp = is_register(dest) && !is_hidden(dest) && gpr_part(dest.reg.value).number == kRsp;
  if (!into_rsp) set(out, kRsp, kRsp, size);
}

}  // namespace

void decode_known_distance(const ZydisView& view, Instruction& out) {
  const int64_t size = view.insn.operand_width / 8;
  const ZydisDecodedOperand* operands = view.operands;
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_MOV:
      return note_mov(view, out);
    case ZYDIS_MNEMONIC_LEA:
      return note_lea(view, out);
    case ZYDIS_MNEMONIC_ADD:
      if (is_immediate(operands[1])) note_step(view, operands[1].imm.value.s, out);
      return;
    case ZYDIS_MNEMONIC_SUB:
      if (is_immediate(operands[1])) note_step(view, -operands[1].imm.value.s, out);
      return;
    case ZYDIS_MNEMONIC_INC:
      return note_step(view, 1, out);
    case ZYDIS_MNEMONIC_DEC:
      return note_step(view, -1, out);
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
      return set(out, kRsp, kRsp, -size);
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
      return note_pop(view, size, out);
    case ZYDIS_MNEMONIC_CALL:
      if (out.flow != Flow::kUnsupported) set(out, kRsp, kRsp, -size);
      return;
    case ZYDIS_MNEMONIC_RET:
      if (out.flow == Flow::kReturn) set(out, kRsp, kRsp, size + out.return_pop);
      return;
    case ZYDIS_MNEMONIC_LEAVE:
      return set(out, kRsp, kRbp, size);
    case ZYDIS_MNEMONIC_ENTER: {
      const int64_t level = static_cast<int64_t>(operands[1].imm.value.u & 31);
      return set(out, kRsp, kRsp, -size * (level + 1) - static_cast<int64_t>(operands[0].imm.value.u & 0xffff));
    }
    default:
      return;
  }
}

}  // namespace simrun::engine
