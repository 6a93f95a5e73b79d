// One thread's ring, consumer side: the words that are there, in order, as contiguous spans; chunks go back to the
// producer when they are read. The protocol stands at the top of instr/border/shared_memory.h.
#pragma once

#include <cstdint>
#include <span>

#include "instr/channel/mapped_process.h"

namespace simrun::channel {

class RingReader {
 public:
  // At the first chunk that was not given back: the first of all, unless another reader was here before.
  RingReader(const MappedProcess& process, uint32_t slot);

  // The words that are known to be there and not consumed; never crosses a chunk. Empty: refresh() may find more.
  std::span<const uint64_t> words() const { return {position_, end_}; }
  bool empty() const { return position_ == end_; }
  const uint64_t* position() const { return position_; }
  const uint64_t* end() const { return end_; }
  // True when the words in hand end where a chunk ends: what is not complete by then never will be.
  bool at_chunk_end() const { return final_; }

  // `next`: first word not consumed, within words().
  void consume_to(const uint64_t* next) { position_ = next; }

  // Looks for more words behind those in hand, gives a finished chunk back. True when there are any that were not there
  // before. Throws StreamError. `writer_is_gone`: the process is dead, a switch of chunks in progress will not be
  // finished.
  bool refresh(bool writer_is_gone);

  // After the last word, when the producer is dead: makes the ring empty for the slot's next user (written, produced and
  // consumed are 0), who sees it when the caller then stores ThreadState::kFree (release).
  void reset();

  border::ThreadSlot& slot() const { return slot_; }
  const MappedProcess& process() const { return process_; }
  // Of the next word: see progress_sampler.h.
  uint64_t place() const { return (sequence_ * chunk_words_ + static_cast<uint64_t>(position_ - chunk_)) * 8; }
  uint64_t words_consumed() const { return words_before_chunk_ + static_cast<uint64_t>(position_ - chunk_); }

 private:
  bool advance_to_finished(uint64_t& produced);
  bool read_finished_chunk();
  bool read_current_chunk(uint64_t produced, bool writer_is_gone);
  void take(uint64_t words, bool final);
  void next_chunk();
  void wake_producer();

  const MappedProcess& process_;
  border::ThreadSlot& slot_;
  std::atomic<uint64_t>& written_;
  const uint64_t* ring_;
  uint64_t ring_target_address_;
  uint32_t chunk_words_;
  uint32_t ring_chunks_;
  uint64_t sequence_;  // of the chunk being read
  uint32_t index_;     // sequence_ % ring_chunks_
  const uint64_t* chunk_;  // its first word
  const uint64_t* position_;
  const uint64_t* end_;
  bool final_ = false;  // end_ is the end of what this chunk will ever hold
  uint64_t words_before_chunk_ = 0;
};

}  // namespace simrun::channel
