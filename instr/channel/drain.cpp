#include "instr/channel/drain.h"

#include "instr/channel/doorbell.h"

namespace simrun::channel {

using border::ThreadState;

Drain::Drain(const MappedProcess& process) : process_(process), readers_(border::kMaxThreads) {
  // Nobody will look at mappings: who waits for that goes on.
  process.header().mappings_read.store(~uint32_t{0}, std::memory_order_release);
  futex_wake_all(process.header().mappings_read);
}

Status Drain::advance(bool alive) {
  bool moved = false;
  for (uint32_t slot = 0; slot < process_.slots_used(); ++slot) {
    auto& state = process_.slot(slot).ring.state;
    const auto seen = static_cast<ThreadState>(state.load(std::memory_order_acquire));
    if (seen == ThreadState::kFree) continue;
    if (readers_[slot] == nullptr) readers_[slot] = std::make_unique<RingReader>(process_, slot);
    RingReader& reader = *readers_[slot];
    while (reader.refresh(!alive)) {
      words_ += reader.words().size();
      reader.consume_to(reader.end());
      moved = true;
    }
    if (seen != ThreadState::kDead) continue;
    reader.reset();
    readers_[slot].reset();
    state.store(static_cast<uint32_t>(ThreadState::kFree), std::memory_order_release);
  }
  return moved ? Status::kAdvanced : alive ? Status::kIdle : Status::kFinished;
}

}  // namespace simrun::channel
