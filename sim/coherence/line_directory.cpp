// Entries: a pool with a free list, found by a hash table.
#include "sim/coherence/line_directory.h"

#include <bit>

namespace simrun::sim {

// The place of `line`, or a new one that is counted, for the caller to fill.
LineDirectory::Place& LineDirectory::place_for(uint64_t line) {
  if (2 * (open_ + 1) > places_.size()) resize(places_.empty() ? kFewestPlaces : 2 * places_.size());
  for (uint64_t at = home_of(line);; at = (at + 1) & (places_.size() - 1)) {
    Place& place = places_[at];
    if (place.line == line) return place;
    if (place.slot != kNoSlot) continue;
    ++open_;
    return place;
  }
}

void LineDirectory::resize(size_t places) {
  std::vector<Place> before(places);
  before.swap(places_);
  shift_ = 64 - static_cast<uint32_t>(std::countr_zero(places / kLinesTogether));
  open_ = 0;
  for (const Place& place : before)
    if (place.slot != kNoSlot) place_for(place.line) = place;
}

Slot LineDirectory::open(uint64_t line) {
  Place& place = place_for(line);
  if (place.slot != kNoSlot) return place.slot;
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
  place = {line, slot};
  return slot;
}

Slot LineDirectory::find(uint64_t line) const {
  if (open_ == 0) return kNoSlot;
  for (uint64_t at = home_of(line);; at = (at + 1) & (places_.size() - 1)) {
    const Place& place = places_[at];
    if (place.line == line) return place.slot;
    if (place.slot == kNoSlot) return kNoSlot;
  }
}

void LineDirectory::close(Slot slot) {
  for (uint32_t word = 0; word < words_; ++word) DCHECK(sharers(slot, word) == 0);
  const uint64_t mask = places_.size() - 1;
  uint64_t hole = home_of(entries_[slot].line);
  while (places_[hole].slot != slot) hole = (hole + 1) & mask;
  // What is behind it, up to an empty place, moves there if it does not come to lie before its home.
  for (uint64_t at = (hole + 1) & mask; places_[at].slot != kNoSlot; at = (at + 1) & mask)
    if (((at - home_of(places_[at].line)) & mask) >= ((at - hole) & mask)) {
      places_[hole] = places_[at];
      hole = at;
    }
  places_[hole] = {};
  --open_;
  entries_[slot].line = kNoLine;
  free_.push_back(slot);
}

}  // namespace simrun::sim
