// The shared mapping of one target process, as seen from the simrun process. The set-up fields of the header are copied
// and checked once: the target can overwrite them at any time, and no bound used here may change under our feet.
#pragma once

#include <cstdint>

#include "instr/border/shared_memory.h"

namespace simrun::channel {

class MappedProcess {
 public:
  // `mapping`: start of the mapping here, already laid out by the launcher. Throws StreamError when the layout does not
  // hold together.
  explicit MappedProcess(void* mapping);

  border::ProcessHeader& header() const { return *header_; }
  uint32_t ring_chunks() const { return ring_chunks_; }
  uint32_t chunk_words() const { return chunk_bytes_ / 8; }
  uint32_t path_capacity() const { return path_capacity_; }

  // Slots that were ever taken; at most kMaxThreads, whatever the header says.
  uint32_t slots_used() const;

  border::ThreadSlot& slot(uint32_t index) const;
  // ThreadSlotRing::written, or what stands for it.
  std::atomic<uint64_t>& written(uint32_t index) const;
  // One counter for each path id (count mode with count_paths), else nullptr.
  const uint32_t* counters(uint32_t index) const;
  // The slot's table; of a mapping that has none nobody hands anything over (ThreadSlot::hand_overs).
  const border::HandOver* hand_overs(uint32_t index) const { return hand_overs_ + uint64_t{index} * border::kHandOvers; }
  const uint64_t* ring(uint32_t index) const;          // first word of the slot's ring
  uint64_t ring_target_address(uint32_t index) const;  // the same in the target's address space

  // Entries published so far (acquire: everything below is readable), never above the capacity.
  uint32_t paths() const;
  // `index` below paths(); the superblock and all it refers to must be checked by the caller against the capacities.
  const border::PathDescriptor& path(uint32_t index) const { return paths_[index]; }
  const border::SuperblockDescriptor* superblocks() const { return superblocks_; }
  const border::InstructionDescriptor* instructions() const { return instructions_; }
  const border::OperandDescriptor* operands() const { return operands_; }
  // The bytes of the translated instructions (SuperblockDescriptor::first_code_byte).
  const uint8_t* code() const { return code_; }
  uint32_t code_capacity() const { return code_capacity_; }
  uint32_t superblock_capacity() const { return superblock_capacity_; }
  uint32_t instruction_capacity() const { return instruction_capacity_; }
  uint32_t operand_capacity() const { return operand_capacity_; }

 private:
  char* base_;
  border::ProcessHeader* header_;
  uint64_t mapping_bytes_, target_base_, slots_offset_, slot_bytes_, rings_offset_, ring_bytes_;
  uint32_t chunk_bytes_, ring_chunks_;
  bool live_words_;
  uint32_t path_capacity_, superblock_capacity_, instruction_capacity_, operand_capacity_, code_capacity_;
  const border::HandOver* hand_overs_;
  const border::PathDescriptor* paths_;
  const border::SuperblockDescriptor* superblocks_;
  const border::InstructionDescriptor* instructions_;
  const border::OperandDescriptor* operands_;
  const uint8_t* code_;
};

}  // namespace simrun::channel
