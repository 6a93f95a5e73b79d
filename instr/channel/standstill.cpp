#include "instr/channel/standstill.h"

namespace simrun::channel {

void Standstill::look(const std::vector<std::unique_ptr<MappedProcess>>& processes) {
  constexpr std::chrono::milliseconds kPeriod{100};
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kPeriod;
  retired_.resize(processes.size());
  for (size_t p = 0; p < processes.size(); ++p) {
    if (processes[p] == nullptr) continue;
    std::vector<uint64_t>& before = retired_[p];
    before.resize(processes[p]->slots_used(), ~uint64_t{0});
    for (uint32_t k = 0; k < before.size(); ++k) {
      border::ThreadSlot& slot = processes[p]->slot(k);
      const uint64_t retired = slot.retired.load(std::memory_order_relaxed);
      const bool runs = slot.ring.state.load(std::memory_order_relaxed) == static_cast<uint32_t>(border::ThreadState::kRunning);
      if (runs && retired == before[k]) slot.indirect_mask.store(0, std::memory_order_relaxed);
      before[k] = retired;
    }
  }
}

}  // namespace simrun::channel
