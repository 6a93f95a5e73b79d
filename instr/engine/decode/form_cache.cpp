#include "instr/engine/decode/form_cache.h"

#include <cstring>

#include "instr/engine/decode/known_forms.h"

namespace simrun::engine {
namespace {

// What follows an opcode. kNotHere: the ordinary decoder knows.
enum Tail : uint8_t {
  kNotHere = 0,
  kPlain = 1,        // nothing
  kModrm = 2,
  kImm8 = 4,
  kImmZ = 8,         // 4 bytes, 2 with an operand-size prefix
  kImmV = 16,        // 8 bytes with REX.W, else kImmZ
  kFree = 32,        // the immediate means nothing to what an Instruction says: mov, cmp, test, ...
  kBranch8 = 64,
  kBranch32 = 128,
};

using Table = std::array<uint8_t, 256>;

constexpr void fill(Table& t, int from, int to, uint8_t tail) {
  for (int k = from; k <= to; ++k) t[static_cast<size_t>(k)] = tail;
}

constexpr Table one_byte() {
  Table t{};
  for (int row = 0; row < 0x40; row += 8) {   // add, or, adc, sbb, and, sub, xor, cmp
    fill(t, row, row + 3, kModrm);
    const int free = row == 0 || row == 0x28 ? 0 : kFree;   // of add and sub the distance is known
    t[static_cast<size_t>(row + 4)] = static_cast<uint8_t>(kImm8 | free);
    t[static_cast<size_t>(row + 5)] = static_cast<uint8_t>(kImmZ | free);
  }
  fill(t, 0x50, 0x5f, kPlain);                // push, pop
  t[0x63] = kModrm;                           // movsxd
  t[0x68] = kImmZ | kFree;
  t[0x69] = kModrm | kImmZ | kFree;
  t[0x6a] = kImm8 | kFree;
  t[0x6b] = kModrm | kImm8 | kFree;
  fill(t, 0x70, 0x7f, kBranch8);
  t[0x80] = kModrm | kImm8;
  t[0x81] = kModrm | kImmZ;
  t[0x83] = kModrm | kImm8;
  fill(t, 0x84, 0x8b, kModrm);
  t[0x8d] = kModrm;
  t[0x90] = t[0x98] = t[0x99] = kPlain;
  t[0xa8] = kImm8 | kFree;
  t[0xa9] = kImmZ | kFree;
  fill(t, 0xb0, 0xb7, kImm8 | kFree);
  fill(t, 0xb8, 0xbf, kImmV | kFree);
  t[0xc0] = t[0xc1] = kModrm | kImm8;
  t[0xc3] = t[0xc9] = kPlain;
  t[0xc6] = kModrm | kImm8 | kFree;
  t[0xc7] = kModrm | kImmZ | kFree;
  fill(t, 0xd0, 0xd3, kModrm);
  t[0xe8] = t[0xe9] = kBranch32;
  t[0xeb] = kBranch8;
  t[0xf6] = t[0xf7] = kModrm;                 // and an immediate for reg 0 and 1: shape_of
  t[0xfe] = t[0xff] = kModrm;
  return t;
}

// 0f, and VEX map 1: the same opcodes with the same immediates.
constexpr Table two_byte() {
  Table t{};
  fill(t, 0x10, 0x17, kModrm);
  t[0x1e] = t[0x1f] = kModrm;
  fill(t, 0x28, 0x2f, kModrm);
  fill(t, 0x40, 0x6f, kModrm);
  fill(t, 0x70, 0x73, kModrm | kImm8);
  fill(t, 0x74, 0x76, kModrm);
  t[0x7e] = t[0x7f] = kModrm;
  fill(t, 0x80, 0x8f, kBranch32);
  fill(t, 0x90, 0x9f, kModrm);
  t[0xa3] = t[0xa5] = t[0xab] = t[0xad] = t[0xaf] = kModrm;
  t[0xa4] = t[0xac] = kModrm | kImm8;
  t[0xb0] = t[0xb1] = t[0xb3] = t[0xb6] = t[0xb7] = t[0xbb] = t[0xbc] = t[0xbd] = t[0xbe] = t[0xbf] = kModrm;
  t[0xba] = t[0xc2] = t[0xc6] = kModrm | kImm8;
  t[0xc0] = t[0xc1] = kModrm;
  fill(t, 0xc8, 0xcf, kPlain);                // bswap
  fill(t, 0xd0, 0xfe, kModrm);
  return t;
}

constexpr Table kOneByte = one_byte(), kTwoByte = two_byte();

struct Head {
  uint8_t at = 0;            // of the opcode's last byte
  uint8_t tail = kNotHere;
  bool operand_size = false, wide = false, group1 = false, group3 = false;
};

// Prefixes and opcode. At most four legacy prefixes: a REX, two escapes, modrm, SIB, 8 more bytes still fit into 15.
Head read_head(const uint8_t* code) {
  Head h;
  uint8_t k = 0;
  for (bool more = true; more && k < 4;) {
    switch (code[k]) {
      case 0x66: h.operand_size = true; ++k; break;
      case 0xf0: case 0xf2: case 0xf3: case 0x2e: case 0x3e: case 0x64: case 0x65: ++k; break;
      default: more = false;
    }
  }
  if (k == 0 && (code[0] == 0xc5 || code[0] == 0xc4)) {   // VEX
    const bool three = code[0] == 0xc4;
    const uint8_t map = three ? code[1] & 0x1f : 1;
    h.at = three ? 3 : 2;
    if (map == 1) h.tail = static_cast<uint8_t>(kTwoByte[code[h.at]] & (kModrm | kImm8));
    if (map == 2) h.tail = kModrm;
    if (map == 3) h.tail = kModrm | kImm8;
    return h;
  }
  if ((code[k] & 0xf0) == 0x40) h.wide = code[k++] & 8;
  h.at = k;
  if (code[k] != 0x0f) {
    h.tail = kOneByte[code[k]];
    h.group1 = (code[k] & 0xfc) == 0x80;
    h.group3 = (code[k] & 0xfe) == 0xf6;
    return h;
  }
  h.at = ++k;
  if (code[k] == 0x38 || code[k] == 0x3a) {
    h.tail = static_cast<uint8_t>(code[k] == 0x38 ? kModrm : kModrm | kImm8);
    ++h.at;
    return h;
  }
  h.tail = kTwoByte[code[k]];
  return h;
}

int64_t number(const uint8_t* at, uint8_t bytes) {
  if (bytes == 1) return static_cast<int8_t>(*at);
  if (bytes == 0) return 0;
  int32_t value;
  std::memcpy(&value, at, 4);
  return value;
}

// 15 bytes of code, and masks for the first `n` of them: in registers, as short copies of a number of bytes that varies are slow.
using Words = std::array<uint64_t, 2>;

Words words_of(const uint8_t* code) {
  uint64_t low, high;
  std::memcpy(&low, code, 8);
  std::memcpy(&high, code + 7, 8);
  return {low, high >> 8};
}

constexpr std::array<Words, 16> first_bytes() {
  std::array<Words, 16> masks{};
  for (uint32_t n = 0; n < 16; ++n)
    for (uint32_t k = 0; k < n; ++k) masks[n][k / 8] |= uint64_t{0xff} << k % 8 * 8;
  return masks;
}
constexpr std::array<Words, 16> kFirstBytes = first_bytes();

Form::Key key_of_words(const Words& code, const FormCache::Shape& shape) {
  const Words &head = kFirstBytes[shape.from], &all = kFirstBytes[shape.length], &numbers = kFirstBytes[shape.from + shape.free_bytes];
  return {code[0] & (head[0] | (all[0] & ~numbers[0])), (code[1] & (head[1] | (all[1] & ~numbers[1]))) | uint64_t{shape.length} << 56};
}

}  // namespace

bool FormCache::shape_of(const uint8_t* code, Shape& out) {
  const Head h = read_head(code);
  if (h.tail == kNotHere) return false;
  uint32_t k = h.at + 1u;
  out.branch = (h.tail & (kBranch8 | kBranch32)) != 0;
  out.disp_bytes = h.tail & kBranch8 ? 1 : h.tail & kBranch32 ? 4 : 0;
  uint32_t immediate = h.tail & kImm8 ? 1 : h.tail & kImmZ ? (h.operand_size && !h.wide ? 2 : 4) : 0;
  bool free = h.tail & kFree;
  if (h.tail & kImmV) immediate = h.wide ? 8 : h.operand_size ? 2 : 4;
  if (h.tail & kModrm) {
    const uint8_t modrm = code[k++], mod = modrm >> 6, rm = modrm & 7;
    const bool sib = mod != 3 && rm == 4;
    const bool no_base = mod == 0 && (sib ? (code[k] & 7) == 5 : rm == 5);
    k += sib;
    out.disp_bytes = mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0;
    const uint8_t reg = modrm >> 3 & 7;
    if (h.group3 && reg <= 1) immediate = (code[h.at] & 1) == 0 ? 1 : h.operand_size && !h.wide ? 2 : 4;
    free = free || h.group3 || (h.group1 && reg != 0 && reg != 5);
  }
  const uint32_t length = k + out.disp_bytes + immediate;
  if (length > 15 || (out.branch && h.operand_size)) return false;
  out.from = static_cast<uint8_t>(k);
  out.free_bytes = static_cast<uint8_t>(out.disp_bytes + (free ? immediate : 0));
  out.length = static_cast<uint8_t>(length);
  return true;
}

Form::Key FormCache::key_of(const uint8_t* code, const Shape& shape) { return key_of_words(words_of(code), shape); }

void FormCache::apply(const Form& form, const Shape& shape, const uint8_t* code, AppAddress pc, Instruction& out) {
  out = form.instruction;
  out.pc = pc;
  const Words bytes = words_of(code);
  const uint64_t low = bytes[0] & kFirstBytes[shape.length][0], high = bytes[1] & kFirstBytes[shape.length][1];
  std::memcpy(out.bytes, &low, 8);
  std::memcpy(out.bytes + 8, &high, 7);
  const AppAddress next = pc + shape.length;
  int64_t disp = number(code + shape.from, shape.disp_bytes);
  if (shape.branch) {
    out.target = next + disp;
    return;
  }
  if (form.rip_relative) disp += static_cast<int64_t>(raw(next));
  for (uint32_t k = 0; k < out.memory_operands; ++k)
    if (form.operands_with_disp >> k & 1) out.memory[k].disp += disp;
  if (form.distance_with_disp) out.distance_delta += disp;
}

void FormCache::learn(Form& form, const Shape& shape, const uint8_t* code, AppAddress pc, const Instruction& first) {
  form.usable = false;
  if (first.length != shape.length) return;
  uint8_t other_code[15] = {};
  std::memcpy(other_code, code, shape.length);
  if (shape.free_bytes == 0) {   // nothing but the place can differ, which is nowhere but in `pc`
    form.instruction = first;
    form.operands_with_disp = 0;
    form.distance_with_disp = form.rip_relative = false;
    form.usable = true;
    return;
  }
  for (uint32_t k = 0; k < shape.free_bytes; ++k) other_code[shape.from + k] ^= static_cast<uint8_t>(0x15 + k);
  const AppAddress other_pc = pc + 0x12345;
  Instruction other;
  if (!engine::decode(other_code, 15, other_pc, other) || other.length != first.length) return;

  form.instruction = first;
  form.rip_relative = first.rip_relative;
  form.operands_with_disp = 0;
  form.distance_with_disp = first.distance_dest != kNoRegister && first.distance_delta != other.distance_delta;
  int64_t disp = number(code + shape.from, shape.disp_bytes);
  if (form.rip_relative) disp += static_cast<int64_t>(raw(pc + shape.length));
  for (uint32_t k = 0; k < first.memory_operands; ++k) {
    if (first.memory[k].disp == other.memory[k].disp) continue;
    form.operands_with_disp |= static_cast<uint8_t>(1u << k);
    form.instruction.memory[k].disp -= disp;
  }
  if (form.distance_with_disp) form.instruction.distance_delta -= disp;
  Instruction applied;
  apply(form, shape, other_code, other_pc, applied);
  form.usable = applied == other;
}

// The one that the slot has, or a new one; when there is none left, all are forgotten.
Form& FormCache::form_for(uint16_t& slot) {
  if (slot == 0) {
    if (used_ == kForms) {
      slots_.fill(0);
      used_ = 0;
    }
    slot = static_cast<uint16_t>(++used_);
  }
  return forms_[slot - 1u];
}

bool FormCache::decode(const uint8_t* code, uint32_t available, AppAddress pc, Instruction& out, const KnownForms* known) {
  Shape shape;
  if (available < 15 || !shape_of(code, shape)) return engine::decode(code, available, pc, out);
  const Form::Key key = key_of(code, shape);
  if (const Form* const form = known != nullptr ? known->find(key) : nullptr; form != nullptr) {
    apply(*form, shape, code, pc, out);
    return true;
  }
  uint16_t& slot = slots_[hash_of(key) >> 51];
  static_assert(kSlots == 1u << (64 - 51));
  if (slot != 0 && forms_[slot - 1u].key == key) {
    const Form& form = forms_[slot - 1u];
    if (!form.usable) return engine::decode(code, available, pc, out);
    apply(form, shape, code, pc, out);
    return true;
  }
  if (!engine::decode(code, available, pc, out)) return false;
  Form& form = form_for(slot);
  form.key = key;
  learn(form, shape, code, pc, out);
  return true;
}

bool KnownForms::add(const uint8_t* code) {
  FormCache::Shape shape;
  Instruction first;
  if (used_ == kMost || !FormCache::shape_of(code, shape) || !engine::decode(code, 15, AppAddress{0}, first)) return false;
  Form& form = forms_[used_];
  form.key = FormCache::key_of(code, shape);
  if (find(form.key) != nullptr) return false;
  FormCache::learn(form, shape, code, AppAddress{0}, first);
  if (!form.usable) return false;
  uint32_t k = place_of(form.key);
  while (slots_[k] != 0) k = (k + 1) % kSlots;
  slots_[k] = static_cast<uint16_t>(++used_);
  return true;
}

}  // namespace simrun::engine
