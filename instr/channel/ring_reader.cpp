#include "instr/channel/ring_reader.h"

#include <fmt/format.h>

#include "instr/channel/doorbell.h"
#include "instr/channel/stream_error.h"

namespace simrun::channel {

RingReader::RingReader(const MappedProcess& process, uint32_t slot)
    : process_(process),
      slot_(process.slot(slot)),
      written_(process.written(slot)),
      ring_(process.ring(slot)),
      ring_target_address_(process.ring_target_address(slot)),
      chunk_words_(process.chunk_words()),
      ring_chunks_(process.ring_chunks()),
      sequence_(slot_.ring.consumed.load(std::memory_order_acquire)),
      index_(static_cast<uint32_t>(sequence_ % ring_chunks_)),
      chunk_(ring_ + uint64_t{index_} * chunk_words_),
      position_(chunk_),
      end_(chunk_) {}

bool RingReader::refresh(bool writer_is_gone) {
  uint64_t produced = 0;
  if (advance_to_finished(produced)) return true;
  return !final_ && read_current_chunk(produced, writer_is_gone);
}

// False: there are words of a finished chunk in hand, or the next ones are of chunk `produced`, which is being written.
bool RingReader::advance_to_finished(uint64_t& produced) {
  for (;;) {
    if (final_) {
      if (position_ != end_) return false;
      next_chunk();
    }
    produced = slot_.ring.produced.load(std::memory_order_acquire);
    if (produced < sequence_ || produced - sequence_ > ring_chunks_)
      throw StreamError(fmt::format("chunk number {} while chunk {} is read", produced, sequence_));
    if (produced == sequence_) return false;
    if (read_finished_chunk()) return true;
    // all of it was in hand already
  }
}

bool RingReader::read_finished_chunk() {
  const uint32_t fill = slot_.ring.fill[index_].load(std::memory_order_acquire);
  const auto have = end_ - chunk_;
  if (fill > chunk_words_ || fill < static_cast<uint64_t>(have))
    throw StreamError(fmt::format("{} words in a chunk of {} ({} were there before)", fill, chunk_words_, have));
  take(fill, true);
  return fill > static_cast<uint64_t>(have);
}

bool RingReader::read_current_chunk(uint64_t produced, bool writer_is_gone) {
  const uint64_t written = written_.load(std::memory_order_acquire);
  if (slot_.ring.produced.load(std::memory_order_acquire) != produced) return refresh(writer_is_gone);
  const uint64_t chunk_target = ring_target_address_ + uint64_t{index_} * chunk_words_ * 8;
  const uint64_t bytes = written - chunk_target;  // wraps when it is in another chunk
  const auto have = static_cast<uint64_t>(end_ - chunk_);
  // The end of this chunk is also the start of the next: as `written` it means that a switch is going on.
  if (bytes < uint64_t{chunk_words_} * 8) {
    const uint64_t words = bytes / 8;
    if (words < have) throw StreamError(fmt::format("what is written moved back, from word {} to {}", have, words));
    take(words, false);
    return words > have;
  }
  if (!writer_is_gone) return false;
  // It died between moving `written` and `produced`: `fill` was written before both. (Or before it ever set `written`: no
  // words.)
  const uint64_t fill = written == 0 ? have : slot_.ring.fill[index_].load(std::memory_order_acquire);
  take(fill >= have && fill <= chunk_words_ ? fill : have, false);
  return static_cast<uint64_t>(end_ - chunk_) > have;
}

void RingReader::take(uint64_t words, bool final) {
  end_ = chunk_ + words;
  final_ = final;
}

void RingReader::next_chunk() {
  words_before_chunk_ += static_cast<uint64_t>(position_ - chunk_);
  ++sequence_;
  if (++index_ == ring_chunks_) index_ = 0;
  chunk_ = position_ = end_ = ring_ + uint64_t{index_} * chunk_words_;
  final_ = false;
  // Sequentially consistent: the producer stores producer_sleeps, then loads consumed; we store consumed, then load
  // producer_sleeps.
  slot_.ring.consumed.store(sequence_, std::memory_order_seq_cst);
  wake_producer();
}

// A producer that is ahead would be woken for each chunk, fill it and sleep again. So not before half of the ring is
// free: it has words until then, and whoever reads all of them comes by here with the ring empty.
void RingReader::wake_producer() {
  if (slot_.ring.producer_sleeps.load(std::memory_order_seq_cst) == 0) return;
  if (slot_.ring.produced.load(std::memory_order_acquire) - sequence_ > ring_chunks_ / 2) return;
  if (slot_.ring.producer_sleeps.exchange(0, std::memory_order_seq_cst) != 0)
    futex_wake_all(slot_.ring.producer_sleeps);
}

void RingReader::reset() {
  words_before_chunk_ += static_cast<uint64_t>(position_ - chunk_);
  sequence_ = 0;
  index_ = 0;
  chunk_ = position_ = end_ = ring_;
  final_ = false;
  written_.store(0, std::memory_order_relaxed);
  slot_.ring.produced.store(0, std::memory_order_relaxed);
  slot_.ring.consumed.store(0, std::memory_order_seq_cst);
}

}  // namespace simrun::channel
