// A directory that is not in the slots of a cache: full map, as large as needed. At memory, when the last level is
// several caches; and at each cache that does not include those above it, for all lines that are in it or above it. An
// entry lives as long as one of them holds the line; its number does not move, so that caches remember it like a slot.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cache/cache.h"

namespace simrun::sim {

class LineDirectory {
 public:
  // `children`: number of caches directly nearer the core.
  explicit LineDirectory(uint32_t children) : words_((children + 63) / 64) {}

  // The entry of `line`, made when there is none: without sharers and data, not exclusive.
  Slot open(uint64_t line);
  // The entry of `line`, or kNoSlot.
  Slot find(uint64_t line) const;
  // Drops an entry without sharers.
  void close(Slot slot);

  uint32_t sharer_words() const { return words_; }
  uint64_t line(Slot slot) const { return entries_[slot].line; }
  uint64_t sharers(Slot slot, uint32_t word) const { return sharers_[size_t{slot} * words_ + word]; }
  void add_sharer(Slot slot, uint32_t child) { word_of(slot, child) |= uint64_t{1} << (child % 64); }
  void remove_sharer(Slot slot, uint32_t child) { word_of(slot, child) &= ~(uint64_t{1} << (child % 64)); }
  // The only sharer holds the line Exclusive or Modified.
  bool owned_by_child(Slot slot) const { return entries_[slot].owned; }
  void set_owned_by_child(Slot slot, bool owned) { entries_[slot].owned = owned; }
  // A sharer holds the line Owned.
  bool dirty_child(Slot slot) const { return entries_[slot].dirty_child; }
  void set_dirty_child(Slot slot, bool dirty) { entries_[slot].dirty_child = dirty; }
  // No cache outside the subtree holds the line.
  bool exclusive(Slot slot) const { return entries_[slot].exclusive; }
  void set_exclusive(Slot slot, bool exclusive) { entries_[slot].exclusive = exclusive; }
  // The entry of the line at the next cache toward memory.
  Slot parent_slot(Slot slot) const { return entries_[slot].parent_slot; }
  void set_parent_slot(Slot slot, Slot parent_slot) { entries_[slot].parent_slot = parent_slot; }
  // The slot of the line in the cache that the directory belongs to, or kNoSlot.
  Slot data(Slot slot) const { return entries_[slot].data; }
  void set_data(Slot slot, Slot data) { entries_[slot].data = data; }
  // MESIF at memory: the sharer that answers for the line, or kNoChild.
  static constexpr uint32_t kNoChild = ~uint32_t{0};
  uint32_t forwarder(Slot slot) const { return entries_[slot].forwarder; }
  void set_forwarder(Slot slot, uint32_t child) { entries_[slot].forwarder = child; }

  void archive(StateArchive& a) {
    a.list(entries_);
    a.list(sharers_);
    a.list(free_);
    if (!a.reads()) return;
    places_.clear();
    open_ = 0;
    for (Slot slot = 0; slot < entries_.size(); ++slot)
      if (entries_[slot].line != kNoLine) place_for(entries_[slot].line) = {entries_[slot].line, slot};
  }

  size_t open_entries() const { return open_; }
  template <class F>
  void for_each(F f) const {
    for (const Place& place : places_)
      if (place.slot != kNoSlot) f(place.slot);
  }

 private:
  struct Entry {
    uint64_t line = kNoLine;
    Slot parent_slot = kNoSlot, data = kNoSlot;
    uint32_t forwarder = kNoChild;
    bool owned = false, dirty_child = false, exclusive = false;
  };
  // Found by a hash table with linear probing, a quarter to a half full. 16 lines in a row have places in a row, four
  // lines of the host in a row (triad on amd_ryzen_7950x and intel_xeon_8462y 0.9 of its time with 4 lines; gzip as before).
  struct Place {
    uint64_t line = kNoLine;
    Slot slot = kNoSlot;  // none: empty
  };
  static constexpr uint64_t kLinesTogether = 16, kFewestPlaces = 64;
  uint64_t home_of(uint64_t line) const {
    const uint64_t hash = line / kLinesTogether * 0x9e3779b97f4a7c15u >> shift_;
    return (hash * kLinesTogether + line % kLinesTogether) & (places_.size() - 1);
  }
  Place& place_for(uint64_t line);
  void resize(size_t places);

  uint64_t& word_of(Slot slot, uint32_t child) { return sharers_[size_t{slot} * words_ + child / 64]; }

  uint32_t words_;
  std::vector<Place> places_;  // a power of two, or none
  uint32_t shift_ = 0;         // of a hash: what is left has a number for each kLinesTogether of them
  size_t open_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint64_t> sharers_;
  std::vector<Slot> free_;
};

}  // namespace simrun::sim
