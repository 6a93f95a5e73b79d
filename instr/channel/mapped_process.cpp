#include "instr/channel/mapped_process.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "instr/channel/stream_error.h"

namespace simrun::channel {

using namespace border;

namespace {

// A path or an event never straddles chunks, so a chunk must hold the largest with room to spare.
constexpr uint32_t kMinChunkWords = 2 * kMaxSuperblockWords;

void require(bool holds, const char* what) {
  if (!holds) throw StreamError(fmt::format("bad header of the shared mapping: {}", what));
}

template <class Entry>
const Entry* table(char* base, uint64_t offset, uint32_t capacity, uint64_t mapping_bytes) {
  require(offset % alignof(Entry) == 0 && offset <= mapping_bytes, "table offset");
  require(capacity <= (mapping_bytes - offset) / sizeof(Entry), "table capacity");
  return reinterpret_cast<const Entry*>(base + offset);
}

}  // namespace

MappedProcess::MappedProcess(void* mapping)
    : base_(static_cast<char*>(mapping)), header_(static_cast<ProcessHeader*>(mapping)) {
  const ProcessHeader& h = *header_;
  require(h.magic == kMagic, "magic number");
  require(h.version == kVersion && h.header_bytes == sizeof(ProcessHeader), "engine and simrun of different versions");
  mapping_bytes_ = h.mapping_bytes;
  target_base_ = h.target_base;
  slots_offset_ = h.slots_offset;
  slot_bytes_ = h.slot_bytes;
  rings_offset_ = h.rings_offset;
  chunk_bytes_ = h.ring_chunk_bytes;
  ring_chunks_ = h.ring_chunks;
  live_words_ = h.live_words != 0;
  require(ring_chunks_ >= 2 && ring_chunks_ <= kMaxRingChunks, "number of chunks");
  require(chunk_bytes_ % 8 == 0 && chunk_bytes_ / 8 >= kMinChunkWords && chunk_bytes_ <= 1u << 30, "chunk size");
  ring_bytes_ = uint64_t{chunk_bytes_} * ring_chunks_;
  require(slot_bytes_ >= sizeof(ThreadSlot) && slot_bytes_ <= mapping_bytes_ / kMaxThreads, "slot size");
  require(slots_offset_ % alignof(ThreadSlot) == 0 && slots_offset_ <= mapping_bytes_ - slot_bytes_ * kMaxThreads,
          "slots");
  require(rings_offset_ % 8 == 0 && ring_bytes_ <= mapping_bytes_ / kMaxThreads, "ring size");
  require(rings_offset_ <= mapping_bytes_ - ring_bytes_ * kMaxThreads, "rings");
  hand_overs_ = h.hand_overs_offset == 0 ? nullptr : table<HandOver>(base_, h.hand_overs_offset, kMaxThreads * kHandOvers, mapping_bytes_);
  path_capacity_ = h.path_capacity;
  superblock_capacity_ = h.superblock_capacity;
  instruction_capacity_ = h.instruction_capacity;
  operand_capacity_ = h.operand_capacity;
  code_capacity_ = h.code_capacity;
  paths_ = table<PathDescriptor>(base_, h.paths_offset, path_capacity_, mapping_bytes_);
  superblocks_ = table<SuperblockDescriptor>(base_, h.superblocks_offset, superblock_capacity_, mapping_bytes_);
  instructions_ = table<InstructionDescriptor>(base_, h.instructions_offset, instruction_capacity_, mapping_bytes_);
  operands_ = table<OperandDescriptor>(base_, h.operands_offset, operand_capacity_, mapping_bytes_);
  code_ = table<uint8_t>(base_, h.code_offset, code_capacity_, mapping_bytes_);
}

uint32_t MappedProcess::slots_used() const {
  return std::min(header_->slots_used.load(std::memory_order_acquire), kMaxThreads);
}

ThreadSlot& MappedProcess::slot(uint32_t index) const {
  CHECK(index < kMaxThreads);
  return *reinterpret_cast<ThreadSlot*>(base_ + slots_offset_ + slot_bytes_ * index);
}

std::atomic<uint64_t>& MappedProcess::written(uint32_t index) const {
  ThreadSlot& s = slot(index);
  return live_words_ ? s.buffer : s.ring.written;
}

const uint32_t* MappedProcess::counters(uint32_t index) const {
  CHECK(index < kMaxThreads);
  if (slot_bytes_ < kSlotStride + kCounterBytes || path_capacity_ > kMaxCountedPaths) return nullptr;
  return reinterpret_cast<const uint32_t*>(base_ + slots_offset_ + slot_bytes_ * index + kSlotStride);
}

const uint64_t* MappedProcess::ring(uint32_t index) const {
  CHECK(index < kMaxThreads);
  return reinterpret_cast<const uint64_t*>(base_ + rings_offset_ + ring_bytes_ * index);
}

uint64_t MappedProcess::ring_target_address(uint32_t index) const {
  return target_base_ + rings_offset_ + ring_bytes_ * index;
}

uint32_t MappedProcess::paths() const {
  return std::min(header_->paths.load(std::memory_order_acquire), path_capacity_);
}

}  // namespace simrun::channel
