// The directory at memory, for machines whose last level is several caches: full map, as large as needed. An entry
// lives as long as a last-level cache holds the line; its slot does not move, so caches remember it like a slot of a
// cache.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/cache/cache.h"

namespace simrun::sim {

class MemoryDirectory {
 public:
  // `children`: number of last-level caches.
  explicit MemoryDirectory(uint32_t children) : words_((children + 63) / 64) {}

  // The entry of `line`, made when there is none.
  Slot open(uint64_t line);
  // The entry of `line`, or kNoSlot.
  Slot find(uint64_t line) const;
  // Drops an entry without sharers.
  void close(Slot slot);

  uint32_t sharer_words() const { return words_; }
  uint64_t line(Slot slot) const { return entries_[slot].line; }
  uint64_t* sharers(Slot slot) { return &sharers_[static_cast<size_t>(slot) * words_]; }
  const uint64_t* sharers(Slot slot) const { return &sharers_[static_cast<size_t>(slot) * words_]; }
  bool owned_by_child(Slot slot) const { return entries_[slot].owned; }
  void set_owned_by_child(Slot slot, bool owned) { entries_[slot].owned = owned; }
  size_t open_entries() const { return slots_.size(); }

 private:
  struct Entry {
    uint64_t line;
    bool owned;  // the only sharer holds the line Exclusive or Modified
  };
  uint32_t words_;
  std::unordered_map<uint64_t, Slot> slots_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> sharers_;
  std::vector<Slot> free_;
};

}  // namespace simrun::sim
