// A target process without a process: the shared mapping in this one's memory, descriptors made by hand, and producers
// that follow the ring protocol from real threads (or from the test's own, when the ring is large enough not to block).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "instr/border/shared_memory.h"
#include "instr/border/stream.h"
#include "instr/channel/mapped_process.h"

namespace simrun::channel {

// One instruction with its memory operands.
struct FakeInstruction {
  uint8_t length = 4;
  std::vector<border::OperandDescriptor> operands;
  uint8_t flags = 0;
};

border::OperandDescriptor address_operand(border::OperandKind kind, uint16_t word_a, uint32_t size, int64_t disp = 0,
                                          uint16_t word_b = border::kNoWord, uint8_t shift = 0, uint8_t flags = 0);

class FakeTarget {
 public:
  static constexpr uint64_t kPlainSlot = 4096;

  explicit FakeTarget(uint32_t chunk_bytes = 8192, uint32_t chunks = 4, uint64_t slot_bytes = kPlainSlot);
  ~FakeTarget();
  FakeTarget(const FakeTarget&) = delete;
  FakeTarget& operator=(const FakeTarget&) = delete;

  void* mapping() const { return memory_; }
  border::ProcessHeader& header() const { return *header_; }
  border::ThreadSlot& slot(uint32_t index) const;
  uint64_t* ring(uint32_t index) const;

  // A superblock at `pc` and one path through the whole of it; returns the path's id.
  uint32_t add_path(uint64_t pc, const std::vector<FakeInstruction>& instructions, uint16_t words);
  // Another path of the superblock of `path`: its first `instructions`.
  uint32_t add_prefix(uint32_t path, uint16_t instructions, uint16_t words);
  // `instructions` of 4 bytes at `pc` without operands.
  uint32_t add_plain(uint64_t pc, uint16_t instructions);

  // Direct access to what add_* wrote, to break it.
  border::OperandDescriptor& operand(uint32_t index) const;
  border::InstructionDescriptor& instruction(uint32_t index) const;
  border::PathDescriptor& path(uint32_t id) const;

 private:
  char* memory_;
  border::ProcessHeader* header_;
};

// The producer side of one ring.
class Producer {
 public:
  Producer(FakeTarget& target, uint32_t slot, uint32_t tid);

  void put(std::initializer_list<uint64_t> words) { put(words.begin(), words.size()); }
  void put(const uint64_t* words, size_t count);
  void event(border::Event event, std::initializer_list<uint64_t> payload = {});
  void start(uint32_t parent = ~0u, uint64_t fs = 0) { event(border::Event::kThreadStart, {tid_, parent, fs}); }
  void end() { event(border::Event::kThreadEnd), state(border::ThreadState::kDead); }
  void state(border::ThreadState state);
  // Of the call whose kSyscallEnter was written last, as border::HandOver has it.
  void hand_over(uint64_t object, uint64_t time, uint64_t units = border::HandOver::kUncounted, uint64_t began = 0);
  void waits_on(uint64_t object) { slot_.waits_on = object; }
  // What a thread does that is about to fill the last `words` of its chunk.
  void switch_chunk();

 private:
  void ring_consumer();

  FakeTarget& target_;
  const uint32_t slot_number_;
  border::ThreadSlot& slot_;
  uint64_t* ring_;
  uint32_t tid_;
  uint64_t sequence_ = 0;
  uint32_t used_ = 0;  // words in the current chunk
};

}  // namespace simrun::channel
