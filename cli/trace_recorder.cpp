#include "cli/trace_recorder.h"

#include "instr/channel/doorbell.h"

namespace simrun::cli {

void TraceRecorder::take_event(std::span<const uint64_t> words) {
  constexpr size_t kTicket = 9;
  if (static_cast<border::Event>(static_cast<uint32_t>(words[0])) != border::Event::kMappingChange) return;
  if (words.size() <= kTicket || words[kTicket] == 0) return;
  for (const traces::Module& module : modules_.update()) {
    writer_.add_module(module);
    if (region_ != nullptr) region_->add_module(module);
  }
  std::atomic<uint32_t>& read = process_.header().mappings_read;
  read.store(static_cast<uint32_t>(words[kTicket]), std::memory_order_release);
  channel::futex_wake_all(read);
}

}  // namespace simrun::cli
