// Control transfers.
#include "instr/engine/context/thread_context.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {
namespace {
constexpr uint32_t spill_slot(uint8_t r) { return static_cast<uint32_t>(offsetof(ThreadContext, spill)) + 8u * r; }
}  // namespace

// jcc side exit. Where there is nothing to do on the way out the jump itself is the one to be linked:
//   null mode:   jcc target                               to the stub until linked
//   count mode:  jcc target's `check`                     to what follows in the cold area until linked
//                  retired = B; B = spill[B]; jmp target's `entry`, to the stub until linked
void Translator::conditional(const Instruction& i) {
  const uint32_t exit = new_exit(i.target, ExitKind::kDirect);
  const uint32_t path = new_path();
  if (tracing()) commit(path);
  if (!anchor_in_use_) {
    TranslationOutput::ExitSite& site = result_->exits[exit];
    out_->align_patchable(2);
    (has_pointer() ? site.patch_same_buffer : site.patch) = out_->size() + 2;
    out_->jcc(i.condition, cold_->here());
    cold_way(exit);
    return;
  }
  side_exits_.push_back({out_->jcc_forward(i.condition), exit, anchor_in_use_});
}

// loop/jrcxz: their displacement has 8 bits: they jump over a jump.
//   op taken; jmp around; taken: jmp side exit; around:
void Translator::counted_jump(const Instruction& i) {
  Assembler& a = *out_;
  const uint32_t exit = new_exit(i.target, ExitKind::kDirect);
  const uint32_t path = new_path();
  if (tracing()) commit(path);
  const GprSet spilled = buffer_ == kRcx ? bit(kRcx) : 0;
  if (spilled) {
    lend_pointer(a);
    a.load_gs(kRcx, spill_slot(kRcx));
  }
  a.bytes(i.bytes, i.length - 1u);
  a.byte(spilled ? 5 + 9 + 9 : 5);
  if (spilled) {
    a.store_gs(spill_slot(kRcx), kRcx);
    take_pointer_back(a);
  }
  uint8_t* around = a.jmp_forward();
  if (spilled) {
    a.store_gs(spill_slot(kRcx), kRcx);
    take_pointer_back(a);
  }
  side_exits_.push_back({a.jmp_forward(), exit, anchor_in_use_});
  a.bind(around);
}

// The return address is pushed from a constant behind the superblock (in the line or page that runs anyway; among the stubs it took
// a cache line of its own): no register, no flags, one 8-byte store for the return to read.
void Translator::push_return_address(const Instruction& i) {
  const uint64_t address = raw(i.pc + i.length);
  if (address == static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(address)))) {
    out_->push_imm32(static_cast<int32_t>(address));
    return;
  }
  constant_ = address;
  constant_use_ = out_->push_code_constant_forward();
}

void Translator::place_constant() {
  if (constant_use_ == nullptr) return;
  while (out_->here() & 7) out_->byte(0xcc);
  out_->bind(constant_use_);
  out_->word64(constant_);
}

void Translator::call(const Instruction& i) {
  mark(held());
  push_return_address(i);
  end_at(i.target, ExitKind::kDirect);
}

// r11 = the operand of a jmp/call r/m64, by turning ff /2 or /4 into mov r11, r/m64 (4c 8b with reg 3).
void Translator::load_target(const Instruction& i) {
  uint8_t code[16];
  uint8_t n = 0;
  uint8_t k = 0;
  uint8_t rex = 0, segment = 0;
  bool address32 = false;
  for (; i.bytes[k] != 0xff; ++k) {
    const uint8_t prefix = i.bytes[k];
    rex = (prefix & 0xf0) == 0x40 ? prefix : 0;   // before another prefix it means nothing
    if (prefix == 0x64 || prefix == 0x65) segment = prefix;
    address32 |= prefix == 0x67;
  }
  // Of any number of prefixes those that mean something, as the load has one more.
  if (segment != 0) code[n++] = segment;
  if (address32) code[n++] = 0x67;
  Instruction load = i;
  load.prefix_offset = n;
  load.prefix = Instruction::Prefix::kRex;
  code[n++] = static_cast<uint8_t>(0x4c | (rex & 3));
  code[n++] = 0x8b;
  load.modrm_offset = n;
  const uint8_t modrm = static_cast<uint8_t>((i.bytes[k + 1] & 0xc7) | 3 << 3);
  code[n++] = modrm;
  const uint8_t tail = static_cast<uint8_t>(i.length - (k + 2));
  load.disp_offset = n;
  __builtin_memcpy(code + n, i.bytes + k + 2, tail);
  n = static_cast<uint8_t>(n + tail);
  if (is_of_segment(i))
    copy_of_segment(load, code, n);
  else
    copy_bytes(load, code, n);
}

// spill r11; r11 = target; [push return address]; commit; look up
void Translator::indirect(const Instruction& i) {
  Assembler& a = *out_;
  const GprSet ours = held();
  a.store_gs(spill_slot(kR11), kR11);
  const bool conflict = has_pointer() && touches(i, buffer_);
  if (conflict) {
    lend_pointer(a);
    a.load_gs(buffer_, spill_slot(buffer_));
  }
  mark(static_cast<GprSet>(conflict ? ours & ~bit(buffer_) : ours));
  load_target(i);
  if (conflict) take_pointer_back(a);
  if (i.flow == Flow::kIndirectCall) {
    mark(static_cast<GprSet>(ours | bit(kR11)));
    push_return_address(i);
  }
  jump_indirect();
}

void Translator::return_(const Instruction& i) {
  Assembler& a = *out_;
  a.store_gs(spill_slot(kR11), kR11);
  mark(held());
  a.pop(kR11);
  if (i.return_pop != 0) a.lea(kRsp, kRsp, i.return_pop);
  jump_indirect();
}

// commit; hand B on; [count the last block]; rcx = index of the target (indirect_index); jump through the table. The code there verifies the target (dispatch/code_table.cpp), so
// that nothing need be compared here, where the flags may be live. Each site has its own jump for the processor's predictor.
void Translator::jump_indirect() {
  Assembler& a = *out_;
  const uint32_t path = new_path();
  commit(path);
  restore_anchor(anchor_in_use_);
  const bool leaves = purpose_ == Purpose::kStep;
  if (has_pointer() && leaves) {
    store_pointer(a);
    a.load_gs(buffer_, spill_slot(buffer_));
  } else if (has_pointer() && buffer_ != kHandedOn) {
    hand_on(a, buffer_, kHandedOn);
  }
  a.store_gs(spill_slot(kRcx), kRcx);
  if (blocks_counted_ < blocks_.size()) count_by(kRcx);
  if (leaves) return a.jmp(options_.indirect_miss);
  if (options_.calls_off_look_ups()) {
    a.load_gs32(kRcx, offsetof(ThreadContext, indirect_mask));
    a.pext_ecx_r11d_ecx();
  } else if (options_.bmi2) {
    a.rorx_ecx_r11d(kIndirectShift);
    a.movzx_ecx_cx();
  } else {
    a.movzx_ecx_r11w();
  }
  a.jmp_gs_rcx8(kIndirectTableOffset);
}

}  // namespace simrun::engine
