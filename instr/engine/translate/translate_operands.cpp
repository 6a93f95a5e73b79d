// Copying of instructions, and the address words of their operands.
#include <algorithm>
#include <iterator>

#include "base/tile_configuration.h"
#include "instr/engine/context/thread_context.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {

using border::OperandDescriptor;
using border::OperandForm;

namespace {

constexpr uint32_t spill_slot(uint8_t r) { return static_cast<uint32_t>(offsetof(ThreadContext, spill)) + 8u * r; }
constexpr bool fits32(int64_t v) { return v == static_cast<int32_t>(v); }

// The vector register that so many bytes of lanes lie in. Index and mask of one gather may be of different sizes.
constexpr uint8_t register_bytes(uint32_t lane_bytes) {
  return static_cast<uint8_t>(lane_bytes <= 16 ? 16 : lane_bytes <= 32 ? 32 : 64);
}

uint64_t rip_target(const Instruction& i, const uint8_t* code) {
  int32_t disp;
  __builtin_memcpy(&disp, code + i.disp_offset, 4);
  return raw(i.pc) + i.length + static_cast<uint64_t>(static_cast<int64_t>(disp));
}

}  // namespace

uint8_t Translator::register_unused_by(const Instruction& i, bool low) const {
  for (uint8_t r = 0; r < (low ? 8 : 16); ++r)
    if (r != kRsp && r != buffer_ && r != anchor_ && !touches(i, r)) return r;
  CHECK(!"an instruction uses every register");
  return kRax;
}

// --- Copying -------------------------------------------------------------------------------------------------------------

// The instruction as it is, but: the buffer register is lent to an instruction that uses it, rip-relative operands are
// re-based, gs: operands go through the application's own GS base.
void Translator::copy(const Instruction& i) {
  Assembler& a = *out_;
  GprSet in_spill = held();
  const bool lend = has_pointer() && touches(i, buffer_);
  if (lend) {
    lend_pointer(a);
    a.load_gs(buffer_, spill_slot(buffer_));
    in_spill = static_cast<GprSet>(in_spill & ~bit(buffer_));
  }
  const uint8_t element = counted_element(i);
  if (element != 0) count_string(i, false);
  mark(in_spill);
  result_->recovery.back().string_element = element;
  if (is_of_segment(i) && i.flow != Flow::kInterrupt)   // swapgs traps before it does anything
    copy_of_segment(i, i.bytes, i.length);
  else
    copy_bytes(i, i.bytes, i.length);
  // A trap (int3, a data breakpoint) reports the address behind the instruction, which may have begun to use the anchor.
  if (anchor_in_use_) in_spill = static_cast<GprSet>(in_spill | bit(anchor_));
  result_->recovery.push_back({a.size(), static_cast<uint16_t>(current_ + 1), words_.words(), counted_, moved_, blocks_counted_,
                                in_spill, has_pointer() && !lend});
  if (element != 0 && i.memory[i.memory_operands - 1].kind == border::OperandKind::kLoad) count_string(i, true);   // what stores ends at rcx = 0
  if (!lend) return;
  if (i.gpr_written & bit(buffer_)) a.store_gs(spill_slot(buffer_), buffer_);
  take_pointer_back(a);
}

// Bytes of an element of a repeated string instruction that is to be counted, else 0. Those with 32-bit addresses are not.
uint8_t Translator::counted_element(const Instruction& i) const {
  const bool counts = counting() && options_.count_paths && i.memory_operands != 0 && i.memory[0].form == OperandForm::kRepeatString;
  return counts && (i.memory[0].flags & border::kAddress32) == 0 ? static_cast<uint8_t>(i.memory[0].size) : 0;
}

// string_bytes += rcx * element, and behind it -= what is left of rcx. Without flags: -rcx is ~rcx + 1.
void Translator::count_string(const Instruction& i, bool behind) {
  Assembler& a = *out_;
  const uint8_t scratch = register_unused_by(i, true), element = counted_element(i);
  a.store_gs(spill_slot(scratch), scratch);
  a.load_gs(scratch, offsetof(ThreadContext, string_bytes));
  if (behind) a.not_rcx();
  a.lea_rcx_times(scratch, element, behind ? static_cast<int8_t>(element) : int8_t{0});
  if (behind) a.not_rcx();
  a.store_gs(offsetof(ThreadContext, string_bytes), scratch);
  a.load_gs(scratch, spill_slot(scratch));
}

void Translator::copy_bytes(const Instruction& i, const uint8_t* code, uint8_t length) {
  if (i.rip_relative && i.flow != Flow::kInterrupt)   // such a one traps before it looks
    copy_rip_relative(i, code, length, rip_target(i, code));
  else
    out_->bytes(code, length);
}

// Three ways, in order: the same form with another displacement; an absolute 32-bit address; a base register of ours.
void Translator::copy_rip_relative(const Instruction& i, const uint8_t* code, uint8_t length, uint64_t target) {
  if (reaches(length, target)) {
    uint8_t patched[16];
    __builtin_memcpy(patched, code, length);
    const auto disp = static_cast<int32_t>(rip_distance(length, target));
    __builtin_memcpy(patched + i.disp_offset, &disp, 4);
    out_->bytes(patched, length);
  } else if (!absolute_form(i, code, length, target)) {
    const RipBase base = take_rip_base(i, target);
    copy_with_base(i, code, length, base);
    if (base.local) mark_behind(i, static_cast<GprSet>(base.around | bit(base.reg)));
    release_rip_base(base);
  }
}

int64_t Translator::rip_distance(uint8_t length, uint64_t target) const {
  return static_cast<int64_t>(target - (out_->here() + view_ + length));
}

// With a reserve for what copy_with_gs_base may emit in between.
bool Translator::reaches(uint8_t length, uint64_t target) const {
  const int64_t distance = rip_distance(length, target);
  return fits32(distance) && fits32(distance - 256);
}

// A register that holds an address within reach of the target: the superblock's anchor, or one that the instruction does not use.
Translator::RipBase Translator::take_rip_base(const Instruction& i, uint64_t target) {
  Assembler& a = *out_;
  const GprSet around = result_->recovery.back().in_spill;
  if (anchor_ == kNoRegister) {
    const uint8_t reg = register_unused_by(i, true);
    a.store_gs(spill_slot(reg), reg);
    a.mov_imm(reg, target);
    mark(static_cast<GprSet>(around | bit(reg)));
    return {reg, 0, true, around};
  }
  if (!anchor_in_use_ || !fits32(static_cast<int64_t>(target - anchor_value_))) {
    if (!anchor_in_use_) a.store_gs(spill_slot(anchor_), anchor_);
    anchor_in_use_ = true;
    anchor_value_ = target;
    a.mov_imm(anchor_, target);
    mark(static_cast<GprSet>(around | bit(anchor_)));
  }
  return {anchor_, static_cast<int32_t>(target - anchor_value_), false, around};
}

void Translator::release_rip_base(const RipBase& base) {
  if (!base.local) return;
  out_->load_gs(base.reg, spill_slot(base.reg));
  mark(base.around);
}

// The prefix in `code` says which half of the registers the base is in. The shortest of VEX has no place for that: the first.
void Translator::name_base(const Instruction& i, uint8_t* code, uint8_t base) {
  constexpr uint8_t kRexB = 1, kInvertedB = 0x20;
  uint8_t& prefix = code[i.prefix_offset];
  uint8_t& behind = code[i.prefix_offset + 1];
  switch (i.prefix) {
    case Instruction::Prefix::kRex: prefix = static_cast<uint8_t>(base < 8 ? prefix & ~kRexB : prefix | kRexB); break;
    case Instruction::Prefix::kVex3:
    case Instruction::Prefix::kXop:
    case Instruction::Prefix::kEvex: behind = static_cast<uint8_t>(base < 8 ? behind | kInvertedB : behind & ~kInvertedB); break;
    case Instruction::Prefix::kVex2: CHECK(base < 8); break;
    case Instruction::Prefix::kNone: break;
  }
}

// mod 10, rm = base: as long as the original; the B bit of the prefix must be clear.
void Translator::copy_with_base(const Instruction& i, const uint8_t* code, uint8_t length, const RipBase& base) {
  uint8_t patched[16];
  __builtin_memcpy(patched, code, length);
  patched[i.modrm_offset] = static_cast<uint8_t>((patched[i.modrm_offset] & 0x38) | 0x80 | base.reg);
  __builtin_memcpy(patched + i.disp_offset, &base.disp, 4);
  name_base(i, patched, base.reg);
  out_->bytes(patched, length);
}

// An address below 2 GiB needs no register: mod 00 with a SIB byte that names neither base nor index. Also `lea`, whose result is a constant.
bool Translator::absolute_form(const Instruction& i, const uint8_t* code, uint8_t length, uint64_t target) {
  if (target > 0x7fffffff || length == 15 || i.prefix == Instruction::Prefix::kEvex) return false;
  const auto disp = static_cast<uint32_t>(target);
  for (uint8_t k = 0; k < i.modrm_offset; ++k) {
    uint8_t b = code[k];
    if (i.prefix == Instruction::Prefix::kRex && k == i.prefix_offset) b &= 0xfd;   // X clear: no index
    if ((i.prefix == Instruction::Prefix::kVex3 || i.prefix == Instruction::Prefix::kXop) && k == i.prefix_offset + 1) b |= 0x40;
    out_->byte(b);
  }
  out_->byte(static_cast<uint8_t>((code[i.modrm_offset] & 0x38) | 4));
  out_->byte(0x25);
  out_->word32(disp);
  out_->bytes(code + i.disp_offset + 4, static_cast<size_t>(length - i.disp_offset - 4));
  return true;
}

// A register, but for `other`, that is the application's and none of the instruction's.
uint8_t Translator::register_around(const Instruction& i, uint8_t other) const {
  for (uint8_t r = 0; r < 16; ++r)
    if (is_free_around(i, r) && r != other) return r;
  CHECK(!"an instruction uses every register");
  return kRax;
}

bool Translator::is_free_around(const Instruction& i, uint8_t r) const {
  return r != kRsp && r != kR11 && r != buffer_ && r != anchor_ && !touches(i, r);
}

// Likewise for the base of an operand. rbp comes last, for a fault at a base of rbp is one of the stack's; r12 would need a SIB byte.
uint8_t Translator::base_around(const Instruction& i) const {
  constexpr uint8_t kLow[] = {kRax, kRcx, kRdx, kRbx, kRsi, kRdi}, kHigh[] = {kR8, kR9, kR10, kR13, kR14, kR15};
  for (const uint8_t r : kLow)
    if (is_free_around(i, r)) return r;
  // With a prefix to name it in; or with a REX of ours, which an instruction on ah to bh must not get: such a one touches four registers at most.
  const auto touched = std::count_if(std::begin(kLow), std::end(kLow), [&](uint8_t r) { return touches(i, r); }) + touches(i, kRbp);
  if (i.prefix != Instruction::Prefix::kVex2 && (i.prefix != Instruction::Prefix::kNone || touched > 4))
    for (const uint8_t r : kHigh)
      if (is_free_around(i, r)) return r;
  CHECK(is_free_around(i, kRbp));
  return kRbp;
}

// A trap (a data breakpoint) is taken behind the instruction, before what is emitted behind it.
void Translator::mark_behind(const Instruction& i, GprSet in_spill) {
  if (i.flow != Flow::kNext) return;   // the copy is a part of it only
  mark(in_spill);
  result_->recovery.back().instruction = static_cast<uint16_t>(current_ + 1);
}

// Of operands that are not copied as they are: those of gs, whose base is ours, and where the kernel has no FSGSBASE of fs, too.
bool Translator::is_of_segment(const Instruction& i) const { return i.uses_gs || (i.uses_fs && options_.fs_is_ours); }

void Translator::copy_of_segment(const Instruction& i, const uint8_t* code, uint8_t length) {
  // The processor keeps the address of x87's last operand, without the segment's base.
  const bool wants_base = !options_.fs_is_ours && is_x87(i);
  if (const MemoryOperand* const operand = summed_segment_operand(i); operand != nullptr && !wants_base)
    copy_with_sum(i, code, length, *operand);
  else
    copy_with_gs_base(i, code, length);
}

// spill t; t = application's base; instruction with [t + displacement]; t back
// With base or index: spill t, u; t = operand's sum; u = application's base; t = t + u; instruction with [t]; t, u back
void Translator::copy_with_sum(const Instruction& i, const uint8_t* code, uint8_t length, const MemoryOperand& operand) {
  Assembler& a = *out_;
  const GprSet around = result_->recovery.back().in_spill;
  const uint32_t segment_base = (operand.flags & border::kFsBase) != 0 ? offsetof(ThreadContext, app_fs_base) : offsetof(ThreadContext, app_gs_base);
  const bool narrow = (operand.flags & border::kAddress32) != 0;
  const bool fits = operand.disp == static_cast<int32_t>(operand.disp);
  const bool is_constant = operand.base == kNoRegister && operand.index == kNoRegister && !narrow && fits;
  const uint8_t t = base_around(i), u = is_constant ? kNoRegister : register_around(i, t);
  a.store_gs(spill_slot(t), t);
  if (is_constant) {
    mark(static_cast<GprSet>(around | bit(t)));
    a.load_gs(t, segment_base);
  } else {
    a.store_gs(spill_slot(u), u);
    mark(static_cast<GprSet>(around | bit(t) | bit(u)));
    if (operand.base == kRipRegister || !fits)
      a.mov_imm(t, narrow ? static_cast<uint32_t>(operand.disp) : static_cast<uint64_t>(operand.disp));
    else
      a.lea_sum(t, operand.base, operand.index, operand.shift, static_cast<int32_t>(operand.disp), narrow);
    a.load_gs(u, segment_base);
    a.lea_sum(t, t, u, 0, 0, false);
  }

  copy_with_operand(i, code, length, t, is_constant ? static_cast<int32_t>(operand.disp) : 0);
  mark_behind(i, static_cast<GprSet>(around | bit(t) | (is_constant ? 0 : bit(u))));
  a.load_gs(t, spill_slot(t));
  if (!is_constant) a.load_gs(u, spill_slot(u));
  mark(around);
}

// The instruction with [base + disp] for its operand in memory, and without what prefixes say of that: the segment and the size of addresses.
void Translator::copy_with_operand(const Instruction& i, const uint8_t* code, uint8_t length, uint8_t base, int32_t disp) {
  Assembler& a = *out_;
  const bool has_prefix = i.prefix != Instruction::Prefix::kNone;
  uint8_t k = 0, lock = 0, size = 0, repeat = 0;   // each once, of the last two the later one
  for (; has_prefix ? k < i.prefix_offset : is_prefix(code[k]); ++k) {
    if (code[k] == 0xf0) lock = code[k];
    if (code[k] == 0x66) size = code[k];
    if (code[k] == 0xf2 || code[k] == 0xf3) repeat = code[k];
  }
  for (const uint8_t prefix : {lock, size, repeat})
    if (prefix != 0) a.byte(prefix);
  uint8_t patched[16];
  __builtin_memcpy(patched, code, length);
  name_base(i, patched, base);
  if (!has_prefix && base >= 8) a.byte(0x41);

  uint8_t reg = 0, tail = length;
  if (i.modrm_offset == 0) {   // a mov of al to rax: a0 to a3 are 8a, 8b, 88, 89 with a modrm byte, for which REX.R counts
    constexpr uint8_t kRexR = 4;
    if (has_prefix) a.byte(patched[k++] & ~kRexR);
    static constexpr uint8_t kOpcodes[] = {0x8a, 0x8b, 0x88, 0x89};
    a.byte(kOpcodes[code[k] & 3]);
  } else {
    a.bytes(patched + k, static_cast<size_t>(i.modrm_offset - k));
    const uint8_t modrm = code[i.modrm_offset], mod = modrm >> 6;
    const bool has_sib = (modrm & 7) == 4;
    const bool no_base = mod == 0 && (has_sib ? (code[i.modrm_offset + 1] & 7) == 5 : (modrm & 7) == 5);
    reg = modrm & 0x38;
    tail = static_cast<uint8_t>(i.modrm_offset + 1 + has_sib + (mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0));
  }
  // A displacement of 8 bits is 0 only, for EVEX scales it.
  const uint8_t mod = disp != 0 ? 0x80 : (base & 7) == kRbp ? 0x40 : 0;
  a.byte(static_cast<uint8_t>(reg | mod | (base & 7)));
  if (mod == 0x80) a.word32(static_cast<uint32_t>(disp));
  if (mod == 0x40) a.byte(0);
  a.bytes(code + tail, static_cast<size_t>(length - tail));
}

// Where there is no such sum: the real base is the application's own for this one instruction.
//   spill t, u; u = GS base; GS base = application's by t; instruction; t = GS base; GS base = u; application's = t; t, u back
// A signal finds the context without the base (fixed_routines.cpp, signals).
void Translator::copy_with_gs_base(const Instruction& i, const uint8_t* code, uint8_t length) {
  CHECK(!options_.fs_is_ours);
  Assembler& a = *out_;
  // A base register is loaded from our context, so before the swap.
  const uint64_t target = i.rip_relative ? rip_target(i, code) : 0;
  const bool needs_base = i.rip_relative && !reaches(length, target);
  RipBase base{};
  if (needs_base) base = take_rip_base(i, target);
  const GprSet around = result_->recovery.back().in_spill;
  uint8_t t = kNoRegister, u = kNoRegister;
  for (uint8_t r = 0; r < 16; ++r) {
    if (r == kRsp || r == kR11 || r == buffer_ || r == anchor_ || touches(i, r) || (needs_base && r == base.reg)) continue;
    (t == kNoRegister ? t : u) = r;
    if (u != kNoRegister) break;
  }
  CHECK(u != kNoRegister);
  a.store_gs(spill_slot(t), t);
  a.store_gs(spill_slot(u), u);
  a.rdgsbase(u);
  a.load_gs(t, offsetof(ThreadContext, app_gs_base));
  a.wrgsbase(t);
  mark(static_cast<GprSet>(around | bit(t) | bit(u)));
  if (needs_base)
    copy_with_base(i, code, length, base);
  else
    copy_bytes(i, code, length);
  mark_behind(i, static_cast<GprSet>(result_->recovery.back().in_spill));
  a.rdgsbase(t);                 // wrgsbase is one of these instructions
  a.wrgsbase(u);
  a.store_gs(offsetof(ThreadContext, app_gs_base), t);
  a.load_gs(t, spill_slot(t));
  a.load_gs(u, spill_slot(u));
  mark(around);
  if (needs_base) release_rip_base(base);
}

// --- Words ---------------------------------------------------------------------------------------------------------------

void Translator::store_word(const Instruction& i, uint16_t word, uint8_t reg) {
  Assembler& a = *out_;
  if (reg != buffer_) {
    if (reg == anchor_ && anchor_in_use_) CHECK(!"the anchor register is not the application's");
    a.store(buffer_, place_of_word(word), reg);
    return;
  }
  // The application's value is in the spill slot: by way of a register that the instruction does not use.
  const uint8_t t = register_unused_by(i, false);
  a.store_gs(spill_slot(t), t);
  a.load_gs(t, spill_slot(buffer_));
  a.store(buffer_, place_of_word(word), t);
  a.load_gs(t, spill_slot(t));
}

WordMap::Use Translator::word_for(const Instruction& i, uint8_t reg) {
  const WordMap::Use use = words_.use(reg);
  if (use.store_now) store_word(i, use.word, reg);
  return use;
}

// A word of its own that holds the register's value itself, at no distance.
WordMap::Use Translator::own_word(const Instruction& i, uint8_t reg) {
  const uint16_t word = words_.reserve(1);
  store_word(i, word, reg);
  return {word, 0, false};
}

// The end of an instruction with the operand [B + 8 * word] and `reg` in its modrm byte. EVEX scales only 8-bit displacements: 32 bits always.
void Translator::place_words(uint8_t reg, uint16_t word) {
  Assembler& a = *out_;
  a.byte(static_cast<uint8_t>(0x80 | (reg & 7) << 3 | (buffer_ & 7)));
  if ((buffer_ & 7) == 4) a.byte(0x24);
  a.word32(static_cast<uint32_t>(place_of_word(word)));
}

// vmovdqu [B + 8 * word], vector register (EVEX for 64 bytes and for registers above 15; movdqu never: the engine only stores
// vectors of VEX- and EVEX-encoded instructions and of maskmovdqu, on processors that have AVX).
void Translator::store_vector(uint16_t word, uint8_t vector, uint8_t bytes) {
  Assembler& a = *out_;
  const uint8_t r = static_cast<uint8_t>(~vector >> 3 & 1), b = static_cast<uint8_t>(~buffer_ >> 3 & 1);
  if (bytes == 8) {   // maskmovq: movq [B + disp32], mm
    if (buffer_ >= 8) a.byte(0x41);
    a.byte(0x0f);
    a.byte(0x7f);
  } else if (bytes == 64 || vector >= 16) {
    const uint8_t r4 = static_cast<uint8_t>(~vector >> 4 & 1);
    a.byte(0x62);
    a.byte(static_cast<uint8_t>(r << 7 | 1 << 6 | b << 5 | r4 << 4 | 1));
    a.byte(0x7e);   // W0, vvvv none, F3
    a.byte(static_cast<uint8_t>((bytes == 64 ? 2 : bytes == 32 ? 1 : 0) << 5 | 8));
    a.byte(0x7f);
  } else {
    a.byte(0xc4);
    a.byte(static_cast<uint8_t>(r << 7 | 1 << 6 | b << 5 | 1));
    a.byte(static_cast<uint8_t>(0x7a | (bytes == 32 ? 4 : 0)));
    a.byte(0x7f);
  }
  place_words(vector, word);
}

// kmovq [B + 8 * word], k; without AVX512BW 16 bits over a zeroed word.
void Translator::store_mask(uint16_t word, uint8_t k) {
  Assembler& a = *out_;
  if (!options_.avx512bw) a.store_imm32(buffer_, place_of_word(word), 0);
  const uint8_t b = static_cast<uint8_t>(~buffer_ >> 3 & 1);
  a.byte(0xc4);
  a.byte(static_cast<uint8_t>(1 << 7 | 1 << 6 | b << 5 | 1));
  a.byte(options_.avx512bw ? 0xf8 : 0x78);
  a.byte(0x91);
  place_words(k, word);
}

// sttilecfg [B + 8 * word]. It faults as little as the tile instruction itself would (Intel SDM vol. 2, STTILECFG): XFD does not concern it.
void Translator::store_tile_configuration(uint16_t word) {
  Assembler& a = *out_;
  const uint8_t b = static_cast<uint8_t>(~buffer_ >> 3 & 1);
  a.byte(0xc4);
  a.byte(static_cast<uint8_t>(1 << 7 | 1 << 6 | b << 5 | 2));
  a.byte(0x79);
  a.byte(0x49);
  place_words(0, word);
}

void Translator::store_words_before(const Instruction& i) {
  for (uint32_t k = 0; k < i.memory_operands; ++k) describe(i, i.memory[k]);
  if (options_.watched == nullptr) return;
  if (current_ == 0 && is_watched(i.pc)) describe_registers(i, {kRdi, kRsi, kRdx});
  if (i.flow == Flow::kReturn) describe_registers(i, {kRax});
}

bool Translator::is_watched(AppAddress pc) const {
  const border::WatchedEntries& watched = *options_.watched;
  const uint32_t count = watched.count.load(std::memory_order_acquire);
  for (uint32_t k = 0; k < count; ++k)
    if (watched.pc[k] == raw(pc)) return true;
  return false;
}

// At most four words in a superblock, from the reserve behind `limit` (ring_writer.cpp): words_bound() knows nothing of them.
void Translator::describe_registers(const Instruction& i, std::initializer_list<uint8_t> registers) {
  OperandDescriptor d{};
  d.instruction = current_;
  d.kind = border::OperandKind::kPrefetch;   // whatever has no effect
  d.form = OperandForm::kRegisters;
  d.word_a = d.word_c = border::kNoWord;
  d.word_b = words_.reserve(static_cast<uint32_t>(registers.size()));
  d.lanes = static_cast<uint8_t>(registers.size());
  d.size = 8;
  uint16_t word = d.word_b;
  for (const uint8_t reg : registers) store_word(i, word++, reg);
  result_->operands.push_back(d);
}

uint8_t string_register(const Instruction& i) { return i.gpr_written & bit(kRdi) ? kRdi : kRsi; }

// One operand: the words that its address needs, and its descriptor.
void Translator::describe(const Instruction& i, const MemoryOperand& m) {
  if (m.form == OperandForm::kTile && !options_.has_tiles) return;
  OperandDescriptor d{};
  d.instruction = current_;
  d.kind = m.kind;
  d.form = m.form;
  d.flags = m.flags;
  d.shift = m.shift;
  d.size = m.size;
  d.disp = m.disp;
  d.lanes = m.lanes;
  d.index_bytes = m.index_bytes;
  d.mask_lane = m.mask_lane;
  d.word_a = d.word_b = d.word_c = border::kNoWord;
  d.register_a = d.register_b = kNoRegister;
  if (m.base < 16) {
    const WordMap::Use base = word_for(i, m.base);
    d.word_a = base.word;
    if (base.store_now) d.register_a = m.base;
    d.disp += base.add;
  }
  if (m.form == OperandForm::kVectorIndex) {
    const uint8_t bytes = register_bytes(m.lanes * m.index_bytes);
    d.word_b = words_.reserve(bytes / 8u);
    store_vector(d.word_b, m.index, bytes);
  } else if (m.index < 16) {
    WordMap::Use index = m.index_bytes == 1 ? own_word(i, m.index) : word_for(i, m.index);
    if (m.form == OperandForm::kTile && index.add != 0) index = own_word(i, m.index);   // it counts once for each row
    d.word_b = index.word;
    if (index.store_now) d.register_b = m.index;
    d.disp += static_cast<int64_t>(static_cast<uint64_t>(index.add) << m.shift);
  }
  if (m.form == OperandForm::kVectorIndex || m.form == OperandForm::kMasked) {
    if (m.mask_register != kNoRegister) {
      const bool vector_mask = m.mask_lane != 0;
      const uint8_t bytes = m.vector_bytes == 8 ? 8 : register_bytes(m.lanes * m.mask_lane);
      d.word_c = words_.reserve(vector_mask ? bytes / 8u : 1);
      if (vector_mask)
        store_vector(d.word_c, m.mask_register, bytes);
      else
        store_mask(d.word_c, m.mask_register);
    }
  }
  if (m.packed) d.modifier = border::OperandModifier::kPacked;
  if (m.form == OperandForm::kAddress && m.index_bytes == 1) d.modifier = border::OperandModifier::kByteIndex;
  if (m.form == OperandForm::kAddress && m.bit_offset < 16) {
    d.modifier = border::OperandModifier::kBitOffset;
    d.word_c = own_word(i, m.bit_offset).word;
  }
  if (m.form == OperandForm::kTile) {
    d.lanes = m.tile;
    d.word_c = words_.reserve(kTileWords);
    store_tile_configuration(d.word_c);
  }
  if (m.form == OperandForm::kXsave) {
    d.word_c = words_.reserve(2);
    store_word(i, d.word_c, kRax);
    store_word(i, static_cast<uint16_t>(d.word_c + 1), kRdx);
  }
  if (m.form == OperandForm::kRepeatString) {
    // A value before and after must be of one register: word_b is its value before without any distance.
    d.word_b = own_word(i, string_register(i)).word;
    d.word_c = words_.reserve(1);   // stored afterwards
  }
  result_->operands.push_back(d);
}

void Translator::store_words_after(const Instruction& i) {
  for (size_t k = result_->operands.size(); k > 0; --k) {
    const OperandDescriptor& d = result_->operands[k - 1];
    if (d.instruction != current_) break;
    if (d.form == OperandForm::kRepeatString)
      store_word(i, d.word_c, string_register(i));
  }
}

}  // namespace simrun::engine
