#include "instr/engine/dispatch/descriptor_tables.h"

#include <sys/mman.h>

#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {
namespace {

// More than one superblock can need; and more than all that are made while the world cannot be stopped (runtime/dispatcher.cpp).
constexpr uint32_t kReserve = 1024, kRenewalReserve = 4096;

struct PathIds {
  uint32_t first, longest, count;
};
std::vector<PathIds> g_paths;                                  // by superblock
std::unordered_map<uint64_t, uint32_t> g_newest_by_contents;   // superblock by the hash of its place and code

template <typename T>
T* table(uint64_t offset) {
  return reinterpret_cast<T*>(g_process.base + offset);
}

constexpr uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15u ^ hash >> 29; }

uint64_t hash_of(const DecodedSuperblock& superblock) {
  uint64_t hash = mix(raw(superblock.pc), superblock.count + (static_cast<uint64_t>(g_process.mode) << 32));
  for (uint32_t k = 0; k < superblock.count; ++k) {
    const Instruction& i = superblock.instructions[k];
    uint64_t bytes[2] = {};
    std::memcpy(bytes, i.bytes, i.length);
    hash = mix(mix(hash, bytes[0]), bytes[1] + (raw(i.pc) << 8));
  }
  return hash;
}

bool same_code(const border::SuperblockDescriptor& known, const DecodedSuperblock& superblock) {
  if (known.pc != raw(superblock.pc) || known.instructions != superblock.count) return false;
  const border::ProcessHeader& h = *g_process.header;
  const auto* instruction = table<border::InstructionDescriptor>(h.instructions_offset) + known.first_instruction;
  const uint8_t* code = table<uint8_t>(h.code_offset) + known.first_code_byte;
  for (uint32_t k = 0; k < superblock.count; ++k, ++instruction) {
    const Instruction& i = superblock.instructions[k];
    if (instruction->offset != i.pc - superblock.pc || instruction->length != i.length ||
        std::memcmp(code, i.bytes, i.length) != 0)
      return false;
    code += i.length;
  }
  return true;
}

}  // namespace

KnownDescriptors find_descriptors(const DecodedSuperblock& superblock) {
  const auto found = g_newest_by_contents.find(hash_of(superblock));
  if (found == g_newest_by_contents.end()) return {};
  const auto& known = table<border::SuperblockDescriptor>(g_process.header->superblocks_offset)[found->second];
  if (!same_code(known, superblock)) return {};
  return {found->second, g_paths[found->second].first};
}

bool describe(KnownDescriptors known, const DecodedSuperblock& superblock, const TranslationOutput& output) {
  const border::ProcessHeader& h = *g_process.header;
  const auto& s = table<border::SuperblockDescriptor>(h.superblocks_offset)[known.superblock];
  if (s.operands != output.operands.size() || g_paths[known.superblock].count != output.paths.size()) return false;
  const auto* instruction = table<border::InstructionDescriptor>(h.instructions_offset) + s.first_instruction;
  for (uint32_t k = 0; k < superblock.count; ++k)
    if (instruction[k].flags != superblock.instructions[k].descriptor_flags ||
        instruction[k].operands != output.operands_per_instruction[k])
      return false;
  const auto* operands = table<border::OperandDescriptor>(h.operands_offset) + s.first_operand;
  static_assert(std::has_unique_object_representations_v<border::OperandDescriptor>);
  if (s.operands != 0 && std::memcmp(operands, output.operands.data(), s.operands * sizeof *operands) != 0) return false;
  const auto* path = table<border::PathDescriptor>(h.paths_offset) + known.first_path;
  for (size_t k = 0; k < output.paths.size(); ++k, ++path) {
    const auto& p = output.paths[k];
    if (path->instructions != p.instructions || path->operands != p.operands || path->words != p.words) return false;
  }
  return true;
}

void start_descriptor_tables() {
  g_paths = {};
  g_newest_by_contents = {};
  border::ProcessHeader& h = *g_process.header;
  h.instructions = h.operands = h.superblocks = h.code_bytes = 0;
  h.paths.store(border::kFirstPath, std::memory_order_release);
}

namespace {

bool have_room_for(uint32_t entries) {
  const border::ProcessHeader& h = *g_process.header;
  return h.instructions + entries <= h.instruction_capacity && h.operands + entries <= h.operand_capacity &&
         h.superblocks + entries <= h.superblock_capacity && h.paths + entries <= h.path_capacity &&
         h.code_bytes + 15 * entries <= h.code_capacity;
}

}  // namespace

bool descriptor_tables_are_full() { return !have_room_for(kReserve); }

bool descriptor_tables_want_renewal() {
  const border::ProcessHeader& h = *g_process.header;
  // With switches of mode a thread looks up what it has traced by path (instrument/budget.cpp: count_traced).
  if (have_room_for(kRenewalReserve) || !g_process.tracing() || h.mode_switches != 0) return false;
  return !g_process.has_reader() || h.forgets_paths.load(std::memory_order_relaxed) != 0;
}

void renew_descriptor_tables() {
  border::ProcessHeader& h = *g_process.header;
  h.statistics.forgotten_paths.fetch_add(h.paths - border::kFirstPath, std::memory_order_relaxed);
  start_descriptor_tables();
  const auto give_back = [](uint64_t offset, uint64_t bytes) { raw_syscall(SYS_madvise, word(g_process.base + offset), bytes, MADV_REMOVE); };
  give_back(h.instructions_offset, sizeof(border::InstructionDescriptor) * uint64_t{h.instruction_capacity});
  give_back(h.operands_offset, sizeof(border::OperandDescriptor) * uint64_t{h.operand_capacity});
  give_back(h.superblocks_offset, sizeof(border::SuperblockDescriptor) * uint64_t{h.superblock_capacity});
  give_back(h.paths_offset, sizeof(border::PathDescriptor) * uint64_t{h.path_capacity});
  give_back(h.code_offset, h.code_capacity);
  h.statistics.renewals.fetch_add(1, std::memory_order_release);
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
    paths[path++] = {index, p.instructions, p.operands, p.words, 0, 0};
  }
  g_paths.resize(index + 1);
  g_paths[index] = {h.paths, longest, static_cast<uint32_t>(output.paths.size())};
  g_newest_by_contents[hash_of(superblock)] = index;
  h.instructions.store(first_instruction + superblock.count, std::memory_order_relaxed);
  h.operands.store(static_cast<uint32_t>(first_operand + output.operands.size()), std::memory_order_relaxed);
  h.code_bytes.store(code_bytes, std::memory_order_relaxed);
  h.superblocks.store(index + 1, std::memory_order_relaxed);
  h.paths.store(path, std::memory_order_release);
  return index;
}

uint32_t last_path_of(uint32_t superblock) { return g_paths[superblock].longest; }

}  // namespace simrun::engine
