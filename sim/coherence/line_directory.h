// A directory that is not in the slots of a cache: full map, as large as needed. At memory, when the last level is
// several caches; and at each cache that does not include those above it, for all lines that are in it or above it. An
// entry lives as long as one of them holds the line; its number does not move, so that caches remember it like a slot.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/cache/cache.h"
#include "sim/cache/huge_pages.h"

namespace simrun::sim {

class LineDirectory {
 public:
  // `children`: number of caches directly nearer the core.
  explicit LineDirectory(uint32_t children) : words_(std::max(1u, (children + 63) / 64)) { CHECK(children < kNoChild); }

  // The entry of `line`, or kNoSlot.
  Slot find(uint64_t line) const {
    if (open_ == 0) return kNoSlot;
    Slot slot = heads_[head_of(line)];
    while (slot != kNoSlot && entries_[slot].line != line) slot = entries_[slot].next;
    return slot;
  }
  // Makes one, without sharers and data, not exclusive. There is none yet.
  Slot open_new(uint64_t line) { return open_new(Entry{.line = line}); }
  // The same of a line that `child` has, and no other.
  Slot open_new(uint64_t line, uint32_t child, bool owned, bool exclusive, Slot parent_slot) {
    const Slot slot = open_new(Entry{.line = line, .parent_slot = parent_slot, .owned = owned, .exclusive = exclusive});
    add_sharer(slot, child);
    return slot;
  }
  // find(), or else open_new().
  Slot open(uint64_t line) {
    const Slot known = find(line);
    return known != kNoSlot ? known : open_new(line);
  }
  // The host will look for them.
  void prefetch(uint64_t line) const {
    if (open_ != 0) __builtin_prefetch(&heads_[head_of(line)]);
  }
  void prefetch_entry(Slot slot) const { __builtin_prefetch(&entries_[slot], 1); }
  // Drops an entry without sharers.
  void close(Slot slot) {
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

  uint32_t sharer_words() const { return words_; }
  uint64_t line(Slot slot) const { return entries_[slot].line; }
  uint64_t sharers(Slot slot, uint32_t word) const {
    return word == 0 ? entries_[slot].sharers : more_sharers_[size_t{slot} * (words_ - 1) + word - 1];
  }
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
  static constexpr uint32_t kNoChild = 0xffff;
  uint32_t forwarder(Slot slot) const { return entries_[slot].forwarder; }
  void set_forwarder(Slot slot, uint32_t child) { entries_[slot].forwarder = static_cast<uint16_t>(child); }

  void archive(StateArchive& a) {
    a.list(entries_);
    a.list(more_sharers_);
    a.value(first_free_);
    a.value(open_);
    if (a.reads()) chain_anew(heads_for(entries_.size()));
  }

  size_t open_entries() const { return open_; }
  template <class F>
  void for_each(F f) const {
    for (Slot slot = 0; slot < entries_.size(); ++slot)
      if (entries_[slot].line != kNoLine) f(slot);
  }

 private:
  // All of an entry lies in one line of the host: a miss of a streaming program looks at four that were last used long ago.
  struct alignas(32) Entry {
    uint64_t line = kNoLine;
    uint64_t sharers = 0;  // of children 0 to 63
    Slot next = kNoSlot;   // of the same head; of one that is not open: the next such
    Slot parent_slot = kNoSlot, data = kNoSlot;
    uint16_t forwarder = kNoChild;
    bool owned : 1 = false, dirty_child : 1 = false, exclusive : 1 = false;
  };
  static_assert(sizeof(Entry) == 32);

  // Found by heads of chains, at least kHeadsPerEntry for each open entry. 16 lines in a row have heads in a row, in one line of the host.
  static constexpr uint64_t kLinesTogether = 16, kFewestHeads = 64, kHeadsPerEntry = 2;
  uint64_t head_of(uint64_t line) const {
    const uint64_t hash = line / kLinesTogether * 0x9e3779b97f4a7c15u >> shift_;
    return (hash * kLinesTogether + line % kLinesTogether) & (heads_.size() - 1);
  }
  static size_t heads_for(size_t entries) {
    return std::max<size_t>(kFewestHeads, std::bit_ceil(kHeadsPerEntry * entries));
  }
  Slot open_new(const Entry& facts) {
    if (kHeadsPerEntry * (open_ + 1) > heads_.size()) [[unlikely]]
      chain_anew(heads_.empty() ? kFewestHeads : 2 * heads_.size());
    Slot slot = first_free_;
    if (slot == kNoSlot) [[unlikely]]
      slot = add_entry();
    else
      first_free_ = entries_[slot].next;
    Slot& head = heads_[head_of(facts.line)];
    entries_[slot] = facts;
    entries_[slot].next = head;
    head = slot;
    ++open_;
    return slot;
  }
  void chain_anew(size_t heads);
  Slot add_entry();

  uint64_t& word_of(Slot slot, uint32_t child) {
    if (child < 64) [[likely]]
      return entries_[slot].sharers;
    return more_sharers_[size_t{slot} * (words_ - 1) + child / 64 - 1];
  }

  uint32_t words_;
  std::vector<Slot, HugePages<Slot>> heads_;  // a power of two, or none
  uint32_t shift_ = 0;                        // of a hash: what is left has a number for each kLinesTogether of them
  uint64_t open_ = 0;
  std::vector<Entry, HugePages<Entry>> entries_;
  std::vector<uint64_t> more_sharers_;  // of children 64 and on
  Slot first_free_ = kNoSlot;
};

}  // namespace simrun::sim
