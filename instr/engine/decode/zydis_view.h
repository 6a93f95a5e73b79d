// One instruction as Zydis decoded it, with the few questions that every part of the decoder asks of it. Internal to
// this folder: nothing outside sees Zydis.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>

#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

struct ZydisView {
  const ZydisDecodedInstruction& insn;
  const ZydisDecodedOperand* operands;  // insn.operand_count of them
  AppAddress pc;
  bool string;   // movs, cmps, stos, lods, scas, ins, outs
  bool repeats;  // ... with an F2 or F3 prefix

  const ZydisDecodedOperand* begin() const { return operands; }
  const ZydisDecodedOperand* end() const { return operands + insn.operand_count; }
  ZydisMnemonic mnemonic() const { return insn.mnemonic; }
  AppAddress next_pc() const { return pc + insn.length; }
};

constexpr bool is_register(const ZydisDecodedOperand& o) { return o.type == ZYDIS_OPERAND_TYPE_REGISTER; }
constexpr bool is_memory(const ZydisDecodedOperand& o) { return o.type == ZYDIS_OPERAND_TYPE_MEMORY; }
constexpr bool is_immediate(const ZydisDecodedOperand& o) { return o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE; }
constexpr bool is_hidden(const ZydisDecodedOperand& o) { return o.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN; }

// Part of a general-purpose register: which one and how many bytes (1, 2, 4, 8; 0 and kNoRegister: not a
// general-purpose register). ah, ch, dh, bh belong to rax, rcx, rdx, rbx.
struct GprPart {
  uint8_t number;
  uint8_t bytes;
};

constexpr GprPart gpr_part(ZydisRegister r) {
  // Zydis numbers each width without gaps, in hardware order, the four high-byte registers after bl.
  if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_RAX), 8};
  if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_EAX), 4};
  if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_AX), 2};
  if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_BL) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_AL), 1};
  if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_R15B) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_AH), 1};
  return {kNoRegister, 0};
}
static_assert(gpr_part(ZYDIS_REGISTER_SPL).number == kRsp && gpr_part(ZYDIS_REGISTER_R15B).number == kR15);
static_assert(gpr_part(ZYDIS_REGISTER_R15D).number == kR15 && gpr_part(ZYDIS_REGISTER_BH).number == kRbx);

struct VectorPart {
  uint8_t number;  // kNoRegister: not a vector register
  uint8_t bytes;
};

constexpr VectorPart vector_part(ZydisRegister r) {
  if (r >= ZYDIS_REGISTER_XMM0 && r <= ZYDIS_REGISTER_XMM31) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_XMM0), 16};
  if (r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM31) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_YMM0), 32};
  if (r >= ZYDIS_REGISTER_ZMM0 && r <= ZYDIS_REGISTER_ZMM31) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_ZMM0), 64};
  if (r >= ZYDIS_REGISTER_MM0 && r <= ZYDIS_REGISTER_MM7) return {static_cast<uint8_t>(r - ZYDIS_REGISTER_MM0), 8};
  return {kNoRegister, 0};
}

// The steps of decode(), in their order. Each fills its own fields of `out`; later ones read those of earlier ones. Any
// time.
void decode_control_flow(const ZydisView& view,
                         Instruction& out);  // flow, descriptor_flags, condition, return_pop, target
void decode_memory_operands(const ZydisView& view, Instruction& out);  // memory*, untraced_memory
void decode_register_use(const ZydisView& view, Instruction& out);     // gpr_*, vector_state
void decode_flag_use(const ZydisView& view, Instruction& out);         // flags_*
void decode_known_distance(const ZydisView& view, Instruction& out);   // distance_*

// Parts of decode_memory_operands.
MemoryOperand& add_memory_operand(Instruction& out, border::OperandKind kind, uint32_t size);
void set_address(const ZydisView& view, const ZydisDecodedOperand& operand, MemoryOperand& out);
// True when the instruction was one of theirs.
bool decode_stack_operands(const ZydisView& view, Instruction& out);
bool decode_vector_operands(const ZydisView& view, Instruction& out);

// True for instructions that raise an exception, or leave user mode, wherever they stand: privileged ones, ud2, int n,
// hlt, ...
bool always_traps(const ZydisView& view);

}  // namespace simrun::engine
