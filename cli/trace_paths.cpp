#include "cli/trace_paths.h"

#include <algorithm>

#include "cli/trace_descriptors.h"
#include "instr/channel/stream_error.h"

namespace simrun::cli {

uint32_t TracePaths::decode_length(uint64_t word) {
  if (!table_.is_path(word)) return 0;
  const auto id = static_cast<uint32_t>(word);
  const traces::Path& path = table_.path(id);
  const traces::DescriptorTable::View view = table_.superblock(path.superblock);
  std::vector<border::InstructionDescriptor> instructions;
  std::vector<border::OperandDescriptor> operands;
  for (const traces::StaticInstruction& i : view.instructions) instructions.push_back({i.offset, i.length, i.flags, 0});
  for (const traces::Operand& o : view.operands) operands.push_back(engine_operand(o));
  const auto is_xsave = [](const border::OperandDescriptor& o) { return o.form == border::OperandForm::kXsave; };
  if (std::any_of(operands.begin(), operands.end(), is_xsave)) return 0;
  border::PathDescriptor descriptor{};
  descriptor.superblock = path.superblock;
  descriptor.instructions = path.instructions, descriptor.operands = path.operands, descriptor.words = path.words;
  try {
    return 1 + keep({word, view.pc, descriptor, instructions, operands}).words;
  } catch (const channel::StreamError&) {  // a replay says what is wrong, if anything is for a trace
    return 0;
  }
}

}  // namespace simrun::cli
