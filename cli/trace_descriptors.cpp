#include "cli/trace_descriptors.h"

#include <fmt/format.h>

#include <algorithm>

#include "instr/border/stream.h"
#include "instr/channel/stream_error.h"

namespace simrun::cli {

namespace {

static_assert(border::kFirstPath == traces::kFirstPath && border::kNoWord == traces::kNoWord);
static_assert(static_cast<int>(border::OperandForm::kRegisters) == static_cast<int>(traces::OperandForm::kRegisters));
static_assert(static_cast<int>(border::OperandForm::kTile) == static_cast<int>(traces::OperandForm::kTile));
static_assert(static_cast<int>(border::OperandForm::kXsave) == static_cast<int>(traces::OperandForm::kXsave));
static_assert(static_cast<int>(border::OperandKind::kNonTemporalStore) ==
              static_cast<int>(traces::OperandKind::kNonTemporalStore));
static_assert(static_cast<int>(border::OperandModifier::kByteIndex) ==
              static_cast<int>(traces::OperandModifier::kByteIndex));
static_assert(border::kStack == static_cast<int>(traces::kStack) && border::kNop == static_cast<int>(traces::kNop));
static_assert(static_cast<int>(border::Event::kMappingChange) == static_cast<int>(traces::Event::kMappingChange));
static_assert(static_cast<int>(border::Event::kCut) == static_cast<int>(traces::Event::kCut));

traces::Operand operand(const border::OperandDescriptor& o) {
  traces::Operand t;
  t.instruction = o.instruction;
  t.kind = static_cast<traces::OperandKind>(o.kind);
  t.form = static_cast<traces::OperandForm>(o.form);
  t.modifier = static_cast<traces::OperandModifier>(o.modifier);
  t.flags = o.flags;
  t.shift = o.shift;
  t.lanes = o.lanes;
  t.index_bytes = o.index_bytes;
  t.mask_lane = o.mask_lane;
  t.word_a = o.word_a;
  t.word_b = o.word_b;
  t.word_c = o.word_c;
  t.size = o.size;
  t.disp = o.disp;
  return t;
}

void note_register(std::vector<uint8_t>& registers, uint16_t word, uint8_t number) {
  if (number < 16 && word >= 1 && word <= registers.size()) registers[word - 1u] = number;
}

}  // namespace

border::OperandDescriptor engine_operand(const traces::Operand& t) {
  border::OperandDescriptor o{};
  o.instruction = t.instruction;
  o.kind = static_cast<border::OperandKind>(t.kind);
  o.form = static_cast<border::OperandForm>(t.form);
  o.flags = t.flags;
  o.shift = t.shift;
  o.word_a = t.word_a, o.word_b = t.word_b, o.word_c = t.word_c;
  o.size = t.size;
  o.disp = t.disp;
  o.lanes = t.lanes, o.index_bytes = t.index_bytes, o.mask_lane = t.mask_lane;
  o.modifier = static_cast<border::OperandModifier>(t.modifier);
  return o;
}

traces::Superblock copied_superblock(const channel::MappedProcess& process, const border::SuperblockDescriptor& s,
                                     uint32_t words) {
  if (uint64_t{s.first_instruction} + s.instructions > process.instruction_capacity() ||
      uint64_t{s.first_operand} + s.operands > process.operand_capacity())
    throw channel::StreamError("a superblock out of range");
  traces::Superblock t;
  t.pc = s.pc;
  uint64_t code = 0;
  for (uint32_t k = 0; k < s.instructions; ++k) {
    const border::InstructionDescriptor& i = process.instructions()[s.first_instruction + k];
    t.instructions.push_back({i.offset, i.length, i.flags});
    code += i.length;
  }
  if (s.first_code_byte + code > process.code_capacity()) throw channel::StreamError("code of a superblock out of range");
  t.code.assign(process.code() + s.first_code_byte, process.code() + s.first_code_byte + code);
  t.word_registers.assign(words, traces::kOtherWord);
  for (uint32_t k = 0; k < s.operands; ++k) {
    const border::OperandDescriptor& o = process.operands()[s.first_operand + k];
    t.operands.push_back(operand(o));
    note_register(t.word_registers, o.word_a, o.register_a);
    note_register(t.word_registers, o.word_b, o.register_b);
  }
  return t;
}

void DescriptorCopier::copy(uint32_t paths) {
  try {
    while (table_.paths() < paths) {
      const uint32_t first = table_.paths();
      const uint32_t source = process_.path(first).superblock;
      if (source >= process_.superblock_capacity()) throw channel::StreamError("superblock of a path out of range");
      // All paths of a superblock are published at once, one after the other.
      uint32_t words = 0;
      for (uint32_t id = first; id < paths && process_.path(id).superblock == source; ++id)
        words = std::max<uint32_t>(words, process_.path(id).words);
      const uint32_t index = table_.add_superblock(copied_superblock(process_, process_.superblocks()[source], words));
      for (uint32_t id = first; id < paths && process_.path(id).superblock == source; ++id) {
        const border::PathDescriptor& p = process_.path(id);
        table_.add_path({index, p.instructions, p.operands, p.words});
      }
    }
  } catch (const traces::FormatError& error) {
    throw channel::StreamError(fmt::format("path {}: {}", table_.paths(), error.what()));
  }
}

uint32_t DescriptorSelection::add(uint32_t path, const channel::MappedProcess& process,
                                  traces::DescriptorTable& table) {
  const uint32_t paths = process.paths();
  if (path < border::kFirstPath || path >= paths) throw channel::StreamError(fmt::format("no path {}", path));
  const uint32_t source = process.path(path).superblock;
  if (source >= process.superblock_capacity()) throw channel::StreamError("superblock of a path out of range");
  // All paths of a superblock were published at once, one after the other.
  uint32_t first = path, end = path, words = 0;
  while (first > border::kFirstPath && process.path(first - 1).superblock == source) --first;
  for (; end < paths && process.path(end).superblock == source; ++end) {
  }
  for (uint32_t k = first; k < end; ++k) words = std::max<uint32_t>(words, process.path(k).words);
  try {
    const uint32_t superblock = table.add_superblock(copied_superblock(process, process.superblocks()[source], words));
    if (numbers_.size() < end) numbers_.resize(2 * end);
    for (uint32_t k = first; k < end; ++k) {
      const border::PathDescriptor& p = process.path(k);
      numbers_[k] = table.add_path({superblock, p.instructions, p.operands, p.words});
    }
  } catch (const traces::FormatError& error) {
    throw channel::StreamError(fmt::format("path {}: {}", path, error.what()));
  }
  return numbers_[path];
}

void DescriptorSelection::renumber(std::span<uint64_t> words, const channel::MappedProcess& process,
                                   traces::DescriptorTable& table) {
  const auto id = static_cast<uint32_t>(words[0]);
  if (id >= border::kFirstPath) {
    words[0] = number(id, process, table);
  } else if (static_cast<border::Event>(id) == border::Event::kCut) {
    if (words.size() < 4) throw channel::StreamError("a cut without words");
    words[1] = number(static_cast<uint32_t>(words[1]), process, table);
  }
}

}  // namespace simrun::cli
