#include "instr/channel/path_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "instr/channel/stream_error.h"

namespace simrun::channel {

using namespace border;

PathTable::PathTable(const MappedProcess& process, uint32_t line_bytes)
    : DecodedPaths(process.path_capacity(), line_bytes), process_(process) {}

PathSource PathTable::source(uint64_t word) const {
  if (word < kFirstPath || word >= process_.paths())
    throw StreamError(fmt::format("word {:#x} is no event and no path ({} paths are known)", word, process_.paths()));
  const PathDescriptor path = process_.path(static_cast<uint32_t>(word));
  if (path.superblock >= process_.superblock_capacity()) bad(word, "superblock out of range");
  const SuperblockDescriptor superblock = process_.superblocks()[path.superblock];
  if (uint64_t{superblock.first_instruction} + superblock.instructions > process_.instruction_capacity())
    bad(word, "instructions out of range");
  if (uint64_t{superblock.first_operand} + superblock.operands > process_.operand_capacity())
    bad(word, "operands out of range");
  if (path.instructions == 0 || path.instructions > superblock.instructions) bad(word, "number of instructions");
  if (path.operands > superblock.operands) bad(word, "number of operands");
  if (path.words >= process_.chunk_words() || path.words == std::numeric_limits<uint16_t>::max())
    bad(word, "more words than a chunk holds");
  return {word,
          superblock.pc,
          path,
          {process_.instructions() + superblock.first_instruction, superblock.instructions},
          {process_.operands() + superblock.first_operand, superblock.operands}};
}

const DecodedPath& PathTable::decode(uint64_t word) { return length(word) != 0 ? (*this)[word] : keep(source(word)); }

std::vector<PathInstruction> PathTable::instructions(uint64_t word) const {
  const PathSource s = source(word);
  std::vector<PathInstruction> made;
  made.reserve(s.path.instructions);
  for (const InstructionDescriptor& instruction : s.instructions.first(s.path.instructions)) {
    check_length(instruction, word);
    const auto offset = static_cast<uint64_t>(static_cast<int64_t>(instruction.offset));
    made.push_back({s.pc + offset, instruction.length, instruction.flags});
  }
  return made;
}

PathCode PathTable::code(uint64_t word) const {
  const PathSource s = source(word);
  PathCode code;
  code.instructions = instructions(word);
  for (const OperandDescriptor& o : s.operands.first(s.path.operands))
    if (o.form == OperandForm::kRegisters) (o.lanes == 1 ? code.result_word : code.argument_words) = o.word_b;
  code.reference_instruction = build(s, s.path.instructions, s.path.words).reference_instruction;
  return code;
}

OwnedPath PathTable::decode_prefix(uint64_t word, uint64_t instructions, uint64_t words,
                                   std::vector<OperandDescriptor>* next_string) const {
  const PathSource s = source(word);
  if (instructions >= s.instructions.size()) bad(word, "cut behind its end");
  OwnedPath made =
      build(s, static_cast<uint32_t>(instructions), static_cast<uint32_t>(std::min<uint64_t>(words, 0x7fff)));
  made.next_pc = s.pc + static_cast<uint64_t>(int64_t{s.instructions[instructions].offset});
  next_string->clear();
  for (const OperandDescriptor o : s.operands)
    if (o.instruction == instructions && o.form == OperandForm::kRepeatString && !problem(o)) next_string->push_back(o);
  return made;
}

}  // namespace simrun::channel
