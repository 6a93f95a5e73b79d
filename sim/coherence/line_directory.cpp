// Growth of the pool of entries and of the hash table of chains that finds them.
#include "sim/coherence/line_directory.h"

#include <bit>

namespace simrun::sim {

void LineDirectory::chain_anew(size_t heads) {
  heads_.assign(heads, kNoSlot);
  shift_ = 64 - static_cast<uint32_t>(std::countr_zero(heads / kLinesTogether));
  for (Slot slot = 0; slot < entries_.size(); ++slot) {
    Entry& entry = entries_[slot];
    if (entry.line == kNoLine) continue;
    Slot& head = heads_[head_of(entry.line)];
    entry.next = head;
    head = slot;
  }
}

Slot LineDirectory::add_entry() {
  const auto slot = static_cast<Slot>(entries_.size());
  CHECK(slot != kNoSlot);
  entries_.emplace_back();
  more_sharers_.resize(more_sharers_.size() + words_ - 1, 0);
  return slot;
}

}  // namespace simrun::sim
