// Entries: a pool with a free list, found by a hash map.
#include "sim/coherence/line_directory.h"

namespace simrun::sim {

Slot LineDirectory::open(uint64_t line) {
  const auto [position, is_new] = slots_.try_emplace(line, kNoSlot);
  if (!is_new) return position->second;
  Slot slot;
  if (free_.empty()) {
    slot = static_cast<Slot>(entries_.size());
    CHECK(slot != kNoSlot);
    entries_.push_back({.line = line});
    sharers_.resize(sharers_.size() + words_, 0);
  } else {
    slot = free_.back();
    free_.pop_back();
    entries_[slot] = {.line = line};
  }
  return position->second = slot;
}

Slot LineDirectory::find(uint64_t line) const {
  const auto position = slots_.find(line);
  return position == slots_.end() ? kNoSlot : position->second;
}

void LineDirectory::close(Slot slot) {
  for (uint32_t word = 0; word < words_; ++word) DCHECK(sharers(slot, word) == 0);
  slots_.erase(entries_[slot].line);
  entries_[slot].line = kNoLine;
  free_.push_back(slot);
}

}  // namespace simrun::sim
