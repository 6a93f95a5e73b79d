// A decoded instruction: what the translator, the liveness analysis and the memory tracer need to know of it, without any
// knowledge of code caches or streams. One `Instruction` is filled per application instruction; it points to no other memory.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "instr/border/descriptors.h"

namespace simrun::engine {

// General-purpose registers by their hardware number: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8..r15.
enum Gpr : uint8_t { kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi, kR8, kR9, kR10, kR11, kR12, kR13, kR14, kR15 };
inline constexpr uint8_t kNoRegister = 0xff;
inline constexpr uint8_t kRipRegister = 0xfe;   // base of a rip-relative operand

using GprSet = uint16_t;                        // bit r: register r
constexpr GprSet bit(uint8_t r) { return static_cast<GprSet>(1u << r); }

// Arithmetic flags as a set; the direction flag counts as an arithmetic flag's equal here.
enum FlagBits : uint8_t { kCf = 1, kPf = 2, kAf = 4, kZf = 8, kSf = 16, kOf = 32, kDf = 64 };
using FlagSet = uint8_t;
inline constexpr FlagSet kArithmeticFlags = kCf | kPf | kAf | kZf | kSf | kOf;

enum class Flow : uint8_t {
  kNext,             // goes on with the next instruction
  kJump,             // direct jmp
  kConditional,      // jcc
  kCountedJump,      // jrcxz/jecxz, loop, loope, loopne (rel8 only; no flags touched)
  kCall,             // direct call
  kIndirectJump,     // jmp r/m64
  kIndirectCall,     // call r/m64
  kReturn,           // ret, ret imm16
  kSyscall,          // syscall
  kInterrupt,        // int n, int3, int1, into, ud2, hlt, sysenter and all privileged instructions: run in place, the fault is the point
  kUnsupported,      // far transfers, iret, anything that must not be copied; also what does not decode (length then 0 or 1)
};

// An operand-size prefix narrows near branches to 16 bits, as on AMD's processors (APM vol. 3, "Near Branches in 64-Bit Mode"): those then
// are kUnsupported. Intel's ignore it. Set before anything is decoded.
extern bool g_narrow_branches;

// One explicit or implicit memory operand, in the order in which the instruction makes its references.
struct MemoryOperand {
  border::OperandKind kind;
  border::OperandForm form;
  uint8_t flags;          // border::OperandFlags
  uint8_t base;           // Gpr, kRipRegister or kNoRegister. String instructions: rsi or rdi. Push: rsp with disp -8, and so on
  uint8_t index;          // Gpr or kNoRegister (kVectorIndex: vector register number 0..31)
  uint8_t shift;          // scale as a power of two
  uint8_t lanes;          // kVectorIndex, kMasked
  uint8_t index_bytes;    // kVectorIndex: 4 or 8. kAddress: 1 when only the lowest byte of `index` counts, zero-extended (xlat); else 0
  uint8_t vector_bytes;   // bytes of the index (or mask) vector register: 16, 32, 64 (8 for maskmovq's mm register)
  uint8_t mask_register;  // kVectorIndex, kMasked: k1..k7, or a vector register number when mask_lane != 0; kNoRegister: all lanes
  uint8_t mask_lane;      // as border::OperandDescriptor::mask_lane
  bool packed;            // kMasked: compress and expand: lane i is the i-th *active* one, so popcount(mask) lanes are touched from the
                          // base on without gaps (Intel SDM vol. 2, VPCOMPRESSD, VPEXPANDD)
  uint8_t tile;           // kTile: 0..7
  uint8_t bit_offset;     // bt, bts, btr, btc with a bit offset in a register (Gpr, else kNoRegister): the address moves by
                          // size * (value of that register as a signed number of `size` bytes >> log2(8 * size))
  uint32_t size;          // bytes of one reference; 0 for kXsave; 1 for prefetches, flushes, clzero, monitorx, umonitor (one line)
  int64_t disp;           // rip-relative: the absolute address

  bool operator==(const MemoryOperand&) const = default;
};

inline constexpr int kMaxMemoryOperands = 4;

struct Instruction {
  AppAddress pc;
  uint8_t length;                 // 1..15
  uint8_t bytes[15];
  Flow flow;
  uint8_t descriptor_flags;       // border::InstructionFlags
  uint8_t condition;              // kConditional: 0..15 as in the opcode (jo 0, jno 1, ...)
  uint16_t return_pop;            // kReturn: bytes released beyond the return address
  AppAddress target;              // direct transfers

  // Registers and flags. `gpr_written` are all that change, if only in part or only sometimes; `gpr_overwritten` those whose old value
  // cannot matter afterwards (written as 32 or 64 bits, unconditionally: not cmovcc with a false condition, not shift by cl for
  // flags, not rep with count 0). Implicit operands included. The same for flags: a flag left undefined is written, not overwritten.
  GprSet gpr_read;
  GprSet gpr_written;
  GprSet gpr_overwritten;
  FlagSet flags_read;
  FlagSet flags_written;
  FlagSet flags_overwritten;

  bool may_fault;                 // has a memory reference, or can raise an exception otherwise (div, ...)
  bool uses_gs;                   // gs: segment override with a memory operand, or rd/wrgsbase, swapgs
  bool uses_fs;                   // fs: segment override with a memory operand
  bool is_base_instruction;       // rdfsbase, rdgsbase, wrfsbase, wrgsbase
  bool writes_fs_base;            // wrfsbase, or a load of the selector
  bool writes_gs_base;
  bool untraced_memory;           // references memory that `memory` does not describe (VIA PadLock)
  bool vector_state;              // reads or writes vector, x87 or MMX state (for statistics only)
  bool stores_fpu_pointer;        // stores x87's last instruction pointer: fnstenv, fnsave, and fxsave and xsave in all their forms

  // Where the modrm byte, the displacement, and the rex/vex/evex/xop prefix lie (0: there is none), so that the translator can rewrite the
  // operand in memory. `modrm_offset`: of a rip-relative operand, and of one with an fs: or gs: override, else 0; `disp_offset`: of a rip-relative one.
  bool rip_relative;
  uint8_t modrm_offset;
  uint8_t disp_offset;
  uint8_t prefix_offset;          // of the rex byte, or of the first byte of vex/evex/xop
  enum class Prefix : uint8_t { kNone, kRex, kVex2, kVex3, kEvex, kXop } prefix;

  // A 64-bit register whose new value is a known distance from a 64-bit register's old value (`mov r,r`, `lea r,[b+d]`, add/sub/inc/dec
  // with an immediate, push, pop, call, ret, leave; rsp after push): value[dest] = value[source] + delta. The distance is
  // known for at most two registers per instruction (`leave`: rsp = rbp + 8; `pop r`: rsp only).
  uint8_t distance_dest;          // kNoRegister: none
  uint8_t distance_source;
  int64_t distance_delta;

  uint8_t memory_operands;
  MemoryOperand memory[kMaxMemoryOperands];

  bool operator==(const Instruction&) const = default;
};

inline constexpr uint8_t kPopFlagsOpcode = 0x9d;   // the opcode of popf, popfq

// Legacy prefixes and REX. Any time.
constexpr bool is_prefix(uint8_t b) {
  return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x26 || b == 0x64 ||
         b == 0x65 || (b & 0xf0) == 0x40;
}

// An instruction of one opcode byte and nothing else but prefixes.
constexpr bool is_one_byte(const Instruction& i, uint8_t opcode) {
  for (uint8_t k = 0; k + 1 < i.length; ++k)
    if (!is_prefix(i.bytes[k])) return false;
  return i.length > 0 && i.bytes[i.length - 1] == opcode;
}

// The 32-bit system call.
constexpr bool is_int80(const Instruction& i) { return i.length >= 2 && i.bytes[i.length - 2] == 0xcd && i.bytes[i.length - 1] == 0x80; }

// rdtsc, rdtscp.
constexpr bool is_rdtsc(const Instruction& i) {
  const uint8_t* const end = i.bytes + i.length;
  if (i.length >= 2 && end[-2] == 0x0f && end[-1] == 0x31) return i.length == 2 || is_prefix(end[-3]);
  return i.length >= 3 && end[-3] == 0x0f && end[-2] == 0x01 && end[-1] == 0xf9 && (i.length == 3 || is_prefix(end[-4]));
}

constexpr bool is_cpuid(const Instruction& i) {
  const uint8_t* const end = i.bytes + i.length;
  return i.length >= 2 && end[-2] == 0x0f && end[-1] == 0xa2 && (i.length == 2 || is_prefix(end[-3]));
}

// Behind legacy prefixes and REX; of vex, evex and xop their own first byte.
constexpr uint8_t first_opcode_byte(const Instruction& i) {
  uint8_t k = 0;
  while (k + 1 < i.length && is_prefix(i.bytes[k])) ++k;
  return i.bytes[k];
}

// mov between al, ax, eax or rax and an address that stands in the instruction.
constexpr bool is_absolute_move(const Instruction& i) { return (first_opcode_byte(i) & 0xfc) == 0xa0; }

constexpr bool is_x87(const Instruction& i) { return (first_opcode_byte(i) & 0xf8) == 0xd8; }

// The operand with an fs: or gs: override, if its address is a sum that can be made before the instruction; else null. It is not that of gathers,
// tiles, strings, and of operands that no modrm byte names (xlat, maskmov, ...), nor one that is cut to 32 bits with a bit offset in it.
constexpr const MemoryOperand* summed_segment_operand(const Instruction& i) {
  if (i.modrm_offset == 0 && !is_absolute_move(i)) return nullptr;
  for (uint32_t k = 0; k < i.memory_operands; ++k) {
    const MemoryOperand& m = i.memory[k];
    using border::OperandForm;
    if ((m.flags & (border::kFsBase | border::kGsBase)) == 0) continue;
    const bool is_sum = m.form == OperandForm::kAddress || m.form == OperandForm::kMasked || m.form == OperandForm::kXsave;
    const bool fits = i.modrm_offset == 0 || m.base == kRipRegister || m.disp == static_cast<int32_t>(m.disp);
    const bool is_cut_later = m.bit_offset != kNoRegister && (m.flags & border::kAddress32) != 0;
    return is_sum && fits && m.index_bytes == 0 && !is_cut_later ? &m : nullptr;
  }
  return nullptr;
}

// Decodes the instruction at `pc` whose bytes start at `code` (at least `available` readable bytes). Returns false when the bytes are
// not a whole valid instruction: `length` is then 0 and `flow` kUnsupported. Any time (no allocation, no lock).
bool decode(const uint8_t* code, uint32_t available, AppAddress pc, Instruction& out);

// Of bytes that `decode` refuses: with so many prefixes it would be longer than 15 bytes, which is #GP and not #UD. Any time.
bool is_too_long(const uint8_t* code, uint32_t available);

// Of bytes, fewer than 15, that are no whole instruction: the processor would fetch more before it refuses them. `knows_evex`: it has
// AVX-512. Any time.
bool is_cut_off(const uint8_t* code, uint32_t available, bool knows_evex);

}  // namespace simrun::engine
