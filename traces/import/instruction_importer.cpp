#include "traces/import/instruction_importer.h"

namespace simrun::traces {

InstructionImporter::InstructionImporter(Writer& writer) : writer_(writer) {
  writer.add_process({});
  writer.start_thread(0, 0, 0, 0, 0);
}

uint32_t InstructionImporter::path_of(uint64_t pc, uint8_t length, uint8_t flags, std::span<const Reference> references) {
  std::vector<std::pair<OperandKind, uint32_t>> kinds;
  for (const Reference& r : references) kinds.emplace_back(r.kind, r.bytes);
  uint32_t& path = paths_[Shape{pc, length, flags, kinds}];
  if (path != 0) return path;
  Superblock s;
  s.pc = pc;
  s.instructions.push_back({0, length, flags});
  for (const auto& [kind, bytes] : kinds) {
    Operand o;
    o.kind = kind;
    o.size = bytes;
    o.word_a = static_cast<uint16_t>(s.operands.size() + 1);
    s.operands.push_back(o);
  }
  const auto count = static_cast<uint16_t>(kinds.size());
  s.word_registers.assign(count, kOtherWord);
  DescriptorTable& table = writer_.process(0);
  return path = table.add_path({table.add_superblock(s), 1, count, count});
}

void InstructionImporter::add(uint64_t pc, uint8_t length, uint8_t flags, std::span<const Reference> references) {
  constexpr uint64_t kHeld = 4096;
  words_.push_back(path_of(pc, length, flags, references));
  for (const Reference& r : references) words_.push_back(r.address);
  if (++held_ == kHeld) flush();
}

void InstructionImporter::flush() {
  writer_.add_paths(0, words_, held_, held_);
  words_.clear();
  held_ = 0;
}

}  // namespace simrun::traces
