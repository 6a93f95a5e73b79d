#include "traces/descriptor_table.h"

#include <algorithm>
#include <bit>

#include "base/tile_configuration.h"

namespace simrun::traces {

namespace {

constexpr uint32_t kMaxPaths = 1u << 26, kMaxSlots = 1u << 28;
constexpr uint64_t kMaxInstructionsOfPath = 4096, kMaxOperandsOfSuperblock = 0xfffe, kMaxWords = 0x7ffe;

uint32_t words_of_vector(uint32_t lanes, uint32_t lane_bytes) { return (lanes * lane_bytes + 7) / 8; }

// Words that the operand reads from word_b and from word_c on.
uint32_t span_b(const Operand& o) {
  if (o.form == OperandForm::kRegisters) return o.lanes;
  return o.form == OperandForm::kVectorIndex ? words_of_vector(o.lanes, o.index_bytes) : 1;
}
uint32_t span_c(const Operand& o) {
  if (o.form == OperandForm::kXsave) return 2;
  if (o.form == OperandForm::kTile) return kTileWords;
  const bool vector = (o.form == OperandForm::kVectorIndex || o.form == OperandForm::kMasked) && o.mask_lane != 0;
  return vector ? words_of_vector(o.lanes, o.mask_lane) : 1;
}

bool fits(uint16_t first, uint32_t count, uint32_t words, bool may_be_absent) {
  if (first == kNoWord) return may_be_absent;
  return first >= 1 && first + count - 1 <= words;
}

void check_operand(const Operand& o) {
  require(static_cast<uint8_t>(o.kind) < kOperandKinds, "unknown kind of operand");
  require(o.form <= OperandForm::kTile, "unknown form of operand");
  require(o.modifier <= OperandModifier::kByteIndex, "unknown modifier of an operand");
  require(o.shift <= 3, "an index shifted by more than 3");
  require(o.size <= 1u << 20 && (o.size != 0 || o.form == OperandForm::kXsave), "size of an operand");
  if (o.modifier == OperandModifier::kBitOffset)
    require(std::has_single_bit(o.size) && o.size <= 8, "size of the operand of a bit offset");
  if (o.form == OperandForm::kTile) require(o.lanes < kTiles, "number of a tile");
  if (o.form == OperandForm::kRegisters) require(o.lanes >= 1, "number of registers");
  if (o.form != OperandForm::kVectorIndex && o.form != OperandForm::kMasked) return;
  require(o.lanes >= 1 && o.lanes <= 64, "number of lanes");
  require(o.form != OperandForm::kVectorIndex || o.index_bytes == 4 || o.index_bytes == 8, "bytes of an index");
  require(o.mask_lane == 0 || (std::has_single_bit(o.mask_lane) && o.mask_lane <= 8), "bytes of a mask lane");
}

void check_superblock(const Superblock& s) {
  require(!s.instructions.empty() && s.instructions.size() <= kMaxInstructionsOfPath, "instructions of a superblock");
  require(s.operands.size() <= kMaxOperandsOfSuperblock, "operands of a superblock");
  require(s.word_registers.size() <= kMaxWords, "words of a superblock");
  size_t code = 0;
  for (const StaticInstruction& i : s.instructions) {
    require(i.length >= 1 && i.length <= 15, "length of an instruction");
    code += i.length;
  }
  require(s.code.empty() || s.code.size() == code, "bytes of the instructions of a superblock");
  uint32_t last = 0;
  for (const Operand& o : s.operands) {
    require(o.instruction >= last && o.instruction < s.instructions.size(), "order of operands");
    last = o.instruction;
    check_operand(o);
  }
  for (uint8_t r : s.word_registers) require(r <= kOtherWord, "register of a word");
}

}  // namespace

bool words_fit(const Operand& o, uint32_t words) {
  const bool optional_b = o.form != OperandForm::kVectorIndex && o.form != OperandForm::kRepeatString &&
                          o.form != OperandForm::kRegisters;
  if (!fits(o.word_a, 1, words, true) || !fits(o.word_b, span_b(o), words, optional_b)) return false;
  const bool no_third = (o.form == OperandForm::kAddress && o.modifier != OperandModifier::kBitOffset) ||
                        o.form == OperandForm::kRegisters;
  return no_third || fits(o.word_c, span_c(o), words, false);
}

DescriptorTable::DescriptorTable() {
  for (uint32_t id = 0; id < kFirstPath; ++id) {
    paths_.push_back({});
    shapes_.push_back({});
  }
}

uint32_t DescriptorTable::add_superblock(const Superblock& s) {
  check_superblock(s);
  require(registers_.size() + s.word_registers.size() <= kMaxSlots, "too many address words");
  superblocks_.push_back({.pc = s.pc,
                          .first_instruction = instructions_.size(),
                          .first_code = code_.size(),
                          .first_operand = operands_.size(),
                          .code_bytes = static_cast<uint32_t>(s.code.size()),
                          .first_slot = static_cast<uint32_t>(registers_.size()),
                          .instructions = static_cast<uint16_t>(s.instructions.size()),
                          .operands = static_cast<uint16_t>(s.operands.size()),
                          .words = static_cast<uint16_t>(s.word_registers.size())});
  instructions_.insert(instructions_.end(), s.instructions.begin(), s.instructions.end());
  code_.insert(code_.end(), s.code.begin(), s.code.end());
  operands_.insert(operands_.end(), s.operands.begin(), s.operands.end());
  for (uint8_t r : s.word_registers) registers_.push_back(r);
  return superblocks() - 1;
}

uint32_t DescriptorTable::add_path(const Path& p) {
  require(p.superblock < superblocks_.size(), "superblock of a path");
  require(paths_.size() < kMaxPaths, "too many paths");
  const Entry& s = superblocks_[p.superblock];
  require(p.instructions >= 1 && p.instructions <= s.instructions, "instructions of a path");
  require(p.operands <= s.operands && p.words <= s.words, "operands or words of a path");
  for (uint32_t k = 0; k < s.operands; ++k) {
    const Operand& o = operands_[s.first_operand + k];
    require((o.instruction < p.instructions) == (k < p.operands), "operands and instructions of a path");
    if (k < p.operands) require(words_fit(o, p.words), "an operand reads words beyond its path");
  }
  paths_.push_back(p);
  shapes_.push_back({s.first_slot, p.words, p.instructions});
  return paths() - 1;
}

DescriptorTable::View DescriptorTable::superblock(uint32_t index) const {
  const Entry& e = superblocks_[index];
  return {e.pc,
          {instructions_.data() + e.first_instruction, e.instructions},
          {code_.data() + e.first_code, e.code_bytes},
          {operands_.data() + e.first_operand, e.operands}};
}

PathShapes DescriptorTable::shapes() const {
  return {shapes_.data(), registers_.data(), paths(), static_cast<uint32_t>(registers_.size())};
}

namespace {

enum OperandFields : uint8_t { kHasA = 1, kHasB = 2, kHasC = 4, kIsSpecial = 8, kHasFlags = 16 };

void write_operand(ByteWriter& out, const Operand& o, uint16_t previous_instruction) {
  const bool special = o.form != OperandForm::kAddress || o.modifier != OperandModifier::kNone;
  out.varint(o.instruction - previous_instruction);
  out.byte(static_cast<uint8_t>((o.word_a != kNoWord ? kHasA : 0) | (o.word_b != kNoWord ? kHasB : 0) |
                                (o.word_c != kNoWord ? kHasC : 0) | (special ? kIsSpecial : 0) |
                                (o.flags != 0 ? kHasFlags : 0)));
  out.byte(static_cast<uint8_t>(static_cast<uint8_t>(o.kind) | o.shift << 4));
  out.varint(o.size);
  out.signed_varint(o.disp);
  if (o.word_a != kNoWord) out.varint(o.word_a);
  if (o.word_b != kNoWord) out.varint(o.word_b);
  if (o.word_c != kNoWord) out.varint(o.word_c);
  if (o.flags != 0) out.byte(o.flags);
  if (!special) return;
  out.byte(static_cast<uint8_t>(o.form));
  out.byte(static_cast<uint8_t>(o.modifier));
  out.byte(o.lanes);
  out.byte(o.index_bytes);
  out.byte(o.mask_lane);
}

uint16_t read_word(ByteReader& from) { return static_cast<uint16_t>(from.varint_up_to(kNoWord - 1, "a word")); }

Operand read_operand(ByteReader& from, uint16_t previous_instruction) {
  Operand o;
  const uint64_t instruction = previous_instruction + from.varint_up_to(0xffff, "an operand's instruction");
  require(instruction <= 0xffff, "an operand's instruction");
  o.instruction = static_cast<uint16_t>(instruction);
  const uint8_t fields = from.byte(), kind = from.byte();
  o.kind = static_cast<OperandKind>(kind & 15);
  o.shift = kind >> 4;
  o.size = static_cast<uint32_t>(from.varint_up_to(1u << 20, "the size of an operand"));
  o.disp = from.signed_varint();
  if (fields & kHasA) o.word_a = read_word(from);
  if (fields & kHasB) o.word_b = read_word(from);
  if (fields & kHasC) o.word_c = read_word(from);
  if (fields & kHasFlags) o.flags = from.byte();
  if (!(fields & kIsSpecial)) return o;
  o.form = static_cast<OperandForm>(from.byte());
  o.modifier = static_cast<OperandModifier>(from.byte());
  o.lanes = from.byte();
  o.index_bytes = from.byte();
  o.mask_lane = from.byte();
  return o;
}

}  // namespace

void DescriptorTable::write_superblock(ByteWriter& out, const Entry& e) const {
  out.varint(e.instructions);
  out.varint(e.operands);
  out.varint(e.words);
  out.byte(e.code_bytes != 0);
  int64_t expected = 0;
  for (uint32_t k = 0; k < e.instructions; ++k) {
    const StaticInstruction& i = instructions_[e.first_instruction + k];
    out.signed_varint(i.offset - expected);
    out.byte(i.length);
    out.byte(i.flags);
    expected = int64_t{i.offset} + i.length;
  }
  out.raw(code_.data() + e.first_code, e.code_bytes);
  uint16_t instruction = 0;
  for (uint32_t k = 0; k < e.operands; ++k) {
    const Operand& o = operands_[e.first_operand + k];
    write_operand(out, o, instruction);
    instruction = o.instruction;
  }
  for (uint32_t k = 0; k < e.words; ++k) out.byte(registers_[e.first_slot + k]);
}

Superblock DescriptorTable::read_superblock(ByteReader& from, uint64_t previous_pc) const {
  Superblock s;
  s.pc = previous_pc + static_cast<uint64_t>(from.signed_varint());
  const uint64_t instructions = from.varint_up_to(kMaxInstructionsOfPath, "instructions of a superblock");
  const uint64_t operands = from.varint_up_to(kMaxOperandsOfSuperblock, "operands of a superblock");
  const uint64_t words = from.varint_up_to(kMaxWords, "words of a superblock");
  const bool has_code = from.byte() != 0;
  int64_t expected = 0;
  uint32_t code = 0;
  for (uint64_t k = 0; k < instructions; ++k) {
    const int64_t offset = expected + static_cast<int32_t>(from.signed_varint());
    const uint8_t length = from.byte(), flags = from.byte();
    require(offset == static_cast<int32_t>(offset), "offset of an instruction");
    s.instructions.push_back({static_cast<int32_t>(offset), length, flags});
    expected = offset + length;
    code += length;
  }
  if (has_code) {
    const auto bytes = from.raw(code);
    s.code.assign(bytes.begin(), bytes.end());
  }
  uint16_t instruction = 0;
  for (uint64_t k = 0; k < operands; ++k) {
    s.operands.push_back(read_operand(from, instruction));
    instruction = s.operands.back().instruction;
  }
  const auto registers = from.raw(words);
  s.word_registers.assign(registers.begin(), registers.end());
  return s;
}

// First the superblocks, then the paths: where they start, how many, then each.
Bytes DescriptorTable::write(uint32_t first_superblock, uint32_t first_path) const {
  ByteWriter out;
  out.varint(first_superblock);
  out.varint(superblocks() - first_superblock);
  uint64_t pc = 0;
  for (uint32_t k = first_superblock; k < superblocks(); ++k) {
    out.signed_varint(static_cast<int64_t>(superblocks_[k].pc - pc));
    write_superblock(out, superblocks_[k]);
    pc = superblocks_[k].pc;
  }
  out.varint(first_path);
  out.varint(paths() - first_path);
  uint32_t superblock = first_superblock;
  for (uint32_t k = first_path; k < paths(); ++k) {
    const Path& p = paths_[k];
    out.signed_varint(static_cast<int64_t>(p.superblock) - superblock);
    out.varint(p.instructions);
    out.varint(p.operands);
    out.varint(p.words);
    superblock = p.superblock;
  }
  return out.take();
}

void DescriptorTable::read(ByteReader& from) {
  require(from.varint() == superblocks(), "superblocks do not continue those before");
  const uint64_t count = from.varint_up_to(kMaxPaths, "number of superblocks");
  uint64_t pc = 0;
  for (uint64_t k = 0; k < count; ++k) {
    const Superblock s = read_superblock(from, pc);
    pc = s.pc;
    add_superblock(s);
  }
  require(from.varint() == paths(), "paths do not continue those before");
  const uint64_t new_paths = from.varint_up_to(kMaxPaths, "number of paths");
  int64_t superblock = static_cast<int64_t>(superblocks()) - static_cast<int64_t>(count);
  for (uint64_t k = 0; k < new_paths; ++k) {
    superblock += static_cast<int32_t>(from.signed_varint());
    require(superblock >= 0 && superblock < superblocks(), "superblock of a path");
    Path p;
    p.superblock = static_cast<uint32_t>(superblock);
    p.instructions = static_cast<uint16_t>(from.varint_up_to(0xffff, "instructions of a path"));
    p.operands = static_cast<uint16_t>(from.varint_up_to(0xffff, "operands of a path"));
    p.words = static_cast<uint16_t>(from.varint_up_to(0xffff, "words of a path"));
    add_path(p);
  }
}

}  // namespace simrun::traces
