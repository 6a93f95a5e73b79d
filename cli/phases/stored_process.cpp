#include "cli/phases/stored_process.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/user_error.h"
#include "instr/border/descriptors.h"
#include "instr/border/shared_memory.h"
#include "instr/border/stream.h"

namespace simrun::cli {

namespace {

using namespace border;

constexpr uint64_t page_up(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

// The smallest that a mapping may have; nothing is ever written to them.
constexpr uint32_t kRingChunkBytes = 2 * kMaxSuperblockWords * 8;
constexpr uint32_t kRingChunks = 2;
constexpr uint64_t kSlotBytes = page_up(sizeof(ThreadSlot));

uint8_t register_of(const traces::PathShapes& shapes, uint32_t first_slot, uint16_t word) {
  if (word == traces::kNoWord || word == 0 || first_slot + word - 1u >= shapes.slot_count) return 0xff;
  const uint8_t number = shapes.registers[first_slot + word - 1u];
  return number < traces::kOtherWord ? number : 0xff;
}

OperandDescriptor descriptor(const traces::Operand& o, const traces::PathShapes& shapes, uint32_t first_slot) {
  OperandDescriptor d{};
  d.instruction = o.instruction;
  d.kind = static_cast<OperandKind>(o.kind);
  d.form = static_cast<OperandForm>(o.form);
  d.modifier = static_cast<OperandModifier>(o.modifier);
  d.flags = o.flags;
  d.shift = o.shift;
  d.lanes = o.lanes;
  d.index_bytes = o.index_bytes;
  d.mask_lane = o.mask_lane;
  d.word_a = o.word_a;
  d.word_b = o.word_b;
  d.word_c = o.word_c;
  d.size = o.size;
  d.disp = o.disp;
  d.register_a = register_of(shapes, first_slot, o.word_a);
  d.register_b = register_of(shapes, first_slot, o.word_b);
  return d;
}

}  // namespace

StoredProcess::StoredProcess(const traces::DescriptorTable& table) {
  uint64_t instructions = 0, operands = 0, code = 0;
  for (uint32_t s = 0; s < table.superblocks(); ++s) {
    const traces::DescriptorTable::View view = table.superblock(s);
    instructions += view.instructions.size();
    operands += view.operands.size();
    for (const traces::StaticInstruction& i : view.instructions) code += i.length;
  }
  uint64_t at = page_up(sizeof(ProcessHeader));
  const auto place = [&](uint64_t bytes) { return std::exchange(at, at + page_up(bytes)); };
  ProcessHeader h{};
  h.slots_offset = place(kSlotBytes * kMaxThreads);
  h.rings_offset = place(uint64_t{kRingChunkBytes} * kRingChunks * kMaxThreads);
  h.instructions_offset = place(instructions * sizeof(InstructionDescriptor));
  h.operands_offset = place(operands * sizeof(OperandDescriptor));
  h.superblocks_offset = place(table.superblocks() * sizeof(SuperblockDescriptor));
  h.paths_offset = place(std::max(table.paths(), kFirstPath) * sizeof(PathDescriptor));
  h.code_offset = place(code);
  bytes_ = at;
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw UserError("no memory for the code of a recorded process");
  memory_ = static_cast<char*>(memory);
  ProcessHeader& header = *new (memory_) ProcessHeader{};
  header.magic = kMagic;
  header.version = kVersion;
  header.header_bytes = sizeof(ProcessHeader);
  header.mapping_bytes = bytes_;
  header.mode = Mode::kTrace;
  header.ring_chunk_bytes = kRingChunkBytes;
  header.ring_chunks = kRingChunks;
  header.slots_offset = h.slots_offset;
  header.slot_bytes = kSlotBytes;
  header.rings_offset = h.rings_offset;
  header.instructions_offset = h.instructions_offset;
  header.operands_offset = h.operands_offset;
  header.superblocks_offset = h.superblocks_offset;
  header.paths_offset = h.paths_offset;
  header.code_offset = h.code_offset;
  header.instruction_capacity = static_cast<uint32_t>(instructions);
  header.operand_capacity = static_cast<uint32_t>(operands);
  header.superblock_capacity = table.superblocks();
  header.path_capacity = std::max(table.paths(), kFirstPath);
  header.code_capacity = static_cast<uint32_t>(code);
  fill(table);
  mapped_ = std::make_unique<channel::MappedProcess>(memory_);
}

StoredProcess::~StoredProcess() { munmap(memory_, bytes_); }

void StoredProcess::fill(const traces::DescriptorTable& table) {
  ProcessHeader& header = *reinterpret_cast<ProcessHeader*>(memory_);
  auto* const instructions = reinterpret_cast<InstructionDescriptor*>(memory_ + header.instructions_offset);
  auto* const operands = reinterpret_cast<OperandDescriptor*>(memory_ + header.operands_offset);
  auto* const superblocks = reinterpret_cast<SuperblockDescriptor*>(memory_ + header.superblocks_offset);
  auto* const paths = reinterpret_cast<PathDescriptor*>(memory_ + header.paths_offset);
  auto* const code = reinterpret_cast<uint8_t*>(memory_ + header.code_offset);
  const traces::PathShapes shapes = table.shapes();
  std::vector<uint32_t> first_slot(table.superblocks());
  for (uint32_t id = traces::kFirstPath; id < table.paths(); ++id) {
    const traces::Path& path = table.path(id);
    paths[id] = {path.superblock, path.instructions, path.operands, path.words, 0, 0};
    first_slot[path.superblock] = shapes.paths[id].first_slot;
  }
  uint32_t next_instruction = 0, next_operand = 0, next_byte = 0;
  for (uint32_t s = 0; s < table.superblocks(); ++s) {
    const traces::DescriptorTable::View view = table.superblock(s);
    superblocks[s] = {view.pc,
                      next_instruction,
                      next_operand,
                      static_cast<uint16_t>(view.instructions.size()),
                      static_cast<uint16_t>(view.operands.size()),
                      next_byte};
    for (const traces::Operand& o : view.operands) operands[next_operand++] = descriptor(o, shapes, first_slot[s]);
    const uint32_t first = next_instruction;
    for (const traces::StaticInstruction& i : view.instructions)
      instructions[next_instruction++] = {i.offset, i.length, i.flags, 0}, next_byte += i.length;
    for (const traces::Operand& o : view.operands) ++instructions[first + o.instruction].operands;
    std::copy(view.code.begin(), view.code.end(), code + superblocks[s].first_code_byte);
  }
  header.instructions = next_instruction;
  header.operands = next_operand;
  header.superblocks = table.superblocks();
  header.code_bytes = next_byte;
  header.paths.store(header.path_capacity, std::memory_order_release);
}

}  // namespace simrun::cli
