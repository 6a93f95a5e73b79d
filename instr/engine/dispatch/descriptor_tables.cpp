#include "instr/engine/dispatch/descriptor_tables.h"

#include <vector>

#include "instr/engine/context/process.h"

namespace simrun::engine {
namespace {

// More than one superblock can need.
constexpr uint32_t kReserve = 4096;

std::vector<uint32_t> g_last_path;   // by superblock

template <typename T>
T* table(uint64_t offset) {
  return reinterpret_cast<T*>(g_process.base + offset);
}

}  // namespace

void start_descriptor_tables() {
  border::ProcessHeader& h = *g_process.header;
  h.instructions = h.operands = h.superblocks = 0;
  h.paths.store(border::kFirstPath, std::memory_order_release);
}

bool descriptor_tables_are_full() {
  const border::ProcessHeader& h = *g_process.header;
  return h.instructions + kReserve > h.instruction_capacity || h.operands + kReserve > h.operand_capacity ||
         h.superblocks + kReserve > h.superblock_capacity || h.paths + kReserve > h.path_capacity ||
         h.code_bytes + 15 * kReserve > h.code_capacity;
}

uint32_t next_path_id() { return g_process.header->paths.load(std::memory_order_relaxed); }

uint32_t append_descriptors(const DecodedSuperblock& superblock, const TranslationOutput& output) {
  border::ProcessHeader& h = *g_process.header;
  const uint32_t first_instruction = h.instructions, first_operand = h.operands, index = h.superblocks;
  uint32_t path = h.paths;
  auto* instructions = table<border::InstructionDescriptor>(h.instructions_offset) + first_instruction;
  for (uint32_t k = 0; k < superblock.count; ++k) {
    const Instruction& i = superblock.instructions[k];
    instructions[k] = {static_cast<int32_t>(i.pc - superblock.pc), i.length, i.descriptor_flags, output.operands_per_instruction[k]};
  }
  uint32_t code_bytes = h.code_bytes;
  const uint32_t first_code_byte = code_bytes;
  for (uint32_t k = 0; k < superblock.count; ++k) {
    const Instruction& i = superblock.instructions[k];
    __builtin_memcpy(table<uint8_t>(h.code_offset) + code_bytes, i.bytes, i.length);
    code_bytes += i.length;
  }
  auto* operands = table<border::OperandDescriptor>(h.operands_offset) + first_operand;
  for (size_t k = 0; k < output.operands.size(); ++k) operands[k] = output.operands[k];
  table<border::SuperblockDescriptor>(h.superblocks_offset)[index] = {
      raw(superblock.pc), first_instruction, first_operand, static_cast<uint16_t>(superblock.count),
      static_cast<uint16_t>(output.operands.size()), first_code_byte};
  auto* paths = table<border::PathDescriptor>(h.paths_offset);
  uint32_t longest = path;
  for (const auto& p : output.paths) {
    if (p.instructions >= paths[longest].instructions || path == h.paths) longest = path;
    const bool counts_entries = path == h.paths + output.entry_counter;
    paths[path++] = {index, p.instructions, p.operands, p.words, counts_entries, 0};
  }
  g_last_path.resize(index + 1, 0);
  g_last_path[index] = longest;
  h.instructions.store(first_instruction + superblock.count, std::memory_order_relaxed);
  h.operands.store(static_cast<uint32_t>(first_operand + output.operands.size()), std::memory_order_relaxed);
  h.code_bytes.store(code_bytes, std::memory_order_relaxed);
  h.superblocks.store(index + 1, std::memory_order_relaxed);
  h.paths.store(path, std::memory_order_release);
  return index;
}

uint32_t last_path_of(uint32_t superblock) { return g_last_path[superblock]; }

}  // namespace simrun::engine
