#include "instr/channel/drain.h"

#include "instr/channel/doorbell.h"

namespace simrun::channel {

using border::ThreadState;

Drain::Drain(const MappedProcess& process) : process_(process), readers_(border::kMaxThreads) {
  // Nobody will look at mappings, nor decode paths: who waits for that goes on.
  for (std::atomic<uint32_t>* done : {&process.header().mappings_read, &process.header().paths_forgotten}) {
    done->store(~uint32_t{0}, std::memory_order_release);
    futex_wake_all(*done);
  }
}

Status Drain::advance(bool alive) {
  if (process_.header().drops_streams != 0) {
    words_ = dropped_words();
    return alive ? Status::kIdle : Status::kFinished;
  }
  moved_ = false;
  for (uint32_t slot = 0; slot < process_.slots_used(); ++slot) empty(slot, alive);
  return moved_ ? Status::kAdvanced : alive ? Status::kIdle : Status::kFinished;
}

void Drain::empty(uint32_t slot, bool alive) {
  auto& state = process_.slot(slot).ring.state;
  const auto seen = static_cast<ThreadState>(state.load(std::memory_order_acquire));
  if (seen == ThreadState::kFree) return;
  if (readers_[slot] == nullptr) readers_[slot] = std::make_unique<RingReader>(process_, slot);
  RingReader& reader = *readers_[slot];
  while (reader.refresh(!alive)) {
    words_ += reader.words().size();
    reader.consume_to(reader.end());
    moved_ = true;
  }
  if (seen != ThreadState::kDead) return;
  reader.reset();
  readers_[slot].reset();
  state.store(static_cast<uint32_t>(ThreadState::kFree), std::memory_order_release);
}

// Of running threads their last chunk, as far as it is seen from here.
uint64_t Drain::dropped_words() const {
  uint64_t words = process_.header().dropped_words.load(std::memory_order_relaxed);
  for (uint32_t slot = 0; slot < process_.slots_used(); ++slot) {
    const border::ThreadSlot& s = process_.slot(slot);
    const uint64_t bytes = s.buffer.load(std::memory_order_relaxed) - process_.ring_target_address(slot);
    if (bytes < uint64_t{process_.chunk_words()} * 8) words += bytes / 8;
  }
  return words;
}

}  // namespace simrun::channel
