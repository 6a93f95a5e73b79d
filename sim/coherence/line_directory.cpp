// Entries: a pool with a free list, found by a hash table of chains.
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

Slot LineDirectory::open(uint64_t line) {
  if (const Slot known = find(line); known != kNoSlot) return known;
  if (kHeadsPerEntry * (open_ + 1) > heads_.size()) chain_anew(heads_.empty() ? kFewestHeads : 2 * heads_.size());
  Slot slot = first_free_;
  if (slot == kNoSlot) {
    slot = static_cast<Slot>(entries_.size());
    CHECK(slot != kNoSlot);
    entries_.emplace_back();
    more_sharers_.resize(more_sharers_.size() + words_ - 1, 0);
  } else {
    first_free_ = entries_[slot].next;
  }
  Slot& head = heads_[head_of(line)];
  Entry entry;
  entry.line = line;
  entry.next = head;
  entries_[slot] = entry;
  head = slot;
  ++open_;
  return slot;
}

Slot LineDirectory::find(uint64_t line) const {
  if (open_ == 0) return kNoSlot;
  Slot slot = heads_[head_of(line)];
  while (slot != kNoSlot && entries_[slot].line != line) slot = entries_[slot].next;
  return slot;
}

void LineDirectory::close(Slot slot) {
  for (uint32_t word = 0; word < words_; ++word) DCHECK(sharers(slot, word) == 0);
  Entry& entry = entries_[slot];
  Slot* link = &heads_[head_of(entry.line)];
  while (*link != slot) link = &entries_[*link].next;
  *link = entry.next;
  entry.line = kNoLine;
  entry.next = first_free_;
  first_free_ = slot;
  --open_;
}

}  // namespace simrun::sim
