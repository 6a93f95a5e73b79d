// One set-associative array: which lines, in what state, how recent, and what the tree of caches needs to know of each
// line. It knows nothing of other caches; the protocol is in sim/coherence/.
//
// Layout. Each set has a block: per way a 16-bit partial tag, an age byte, a state byte, each row padded to a power
// of two of at least 8 ways. A block of 16 ways is one host line, of 8 ways half a line: search, recency and choice of
// a victim touch that alone. Full tags verify a candidate; partial tags are a hash of the whole line number, so that a
// miss rarely has a candidate.
//
// A *slot* is the position of a line: set * padded ways + way. A line keeps its slot as long as it is in the cache, so
// a cache nearer the core remembers its line's slot here (inclusion keeps it valid) and the way back needs no search.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "sim/build/machine_config.h"
#include "sim/replacement/lru_ages.h"
#include "sim/replacement/set_view.h"
#include "sim/state_archive.h"
#include "sim/stats/statistics.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

using Slot = uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

constexpr uint16_t partial_tag(uint64_t line) { return static_cast<uint16_t>((line * 0x9e3779b97f4a7c15u) >> 48); }

// Accesses and misses of one core at one cache, by kind.
struct RequestCounters {
  uint64_t accesses[kAccessKinds] = {};
  uint64_t misses[kAccessKinds] = {};
};

// What the protocol counts at one cache; meanings as in CacheStatistics.
struct EventCounters {
  uint64_t evictions = 0, write_backs_out = 0, write_backs_in = 0, back_invalidations = 0, flushed_lines = 0;
  uint64_t upgrades = 0, invalidations_sent = 0, invalidations_received = 0, downgrades = 0;
  uint64_t interventions = 0, dirty_interventions = 0, clean_supplies = 0;
  uint64_t supplied_by_children = 0, victims_in = 0, writes_passed_on = 0;
};

class Cache {
 public:
  struct Options {
    std::string name;
    uint64_t sets = 1;      // any number; powers of two avoid a division
    uint32_t ways = 1;      // 1..kMaxWays
    uint32_t children = 0;  // caches directly nearer the core; 0 in level 1
    Replacement replacement = Replacement::kLru;
    // Where the directory of the children is: in the slots of the lines, or elsewhere (LineDirectory). If elsewhere,
    // the parent slot of a line is its entry there.
    bool holds_directory = true;
    // Of a slice: its set i is set i * slices + slice of the cache.
    uint32_t slices = 1, slice = 0;
  };
  explicit Cache(const Options& options);
  Cache(Cache&&) noexcept = default;  // no copies: blocks_ and tags_ point into the storage
  Cache& operator=(Cache&&) noexcept = default;

  const std::string& name() const { return name_; }
  uint64_t sets() const { return sets_; }
  uint32_t ways() const { return ways_; }
  uint32_t padded_ways() const { return padded_ways_; }

  // The slot of `line`, or kNoSlot. No effect on recency.
  Slot find(uint64_t line) const { return padded_ways_ == 8 ? find_in<8>(line) : find_in<0>(line); }
  void touch(Slot slot) {
    if (replacement_ == Replacement::kLru) [[likely]]
      lru::touch(block(slot >> way_shift_).ages, padded_ways_, slot & way_mask_);
    else
      touch_by_policy(slot);
  }
  Replacement replacement() const { return replacement_; }
  // A hit right after a fill changes nothing, so that a fill may set the front.
  bool fill_is_hit() const { return fill_is_hit_; }

  // The hit of level 1 behind the front, in one piece so that the number of ways is a constant in it: finds the line,
  // makes it the most recent, sets the front. kPadded: padded_ways() if it is 8, else 0.
  enum class Hit : uint8_t { kDone, kMiss, kFirstWrite };  // kFirstWrite: a write, the line is there but not Modified
  struct HitResult {
    Hit hit;
    Slot slot;  // unless kMiss
  };
  template <uint32_t kPadded>
  HitResult hit_in_level1(uint64_t line, uint32_t write);
  // Where `line` will go: an empty way of its set, else the one that the policy chooses.
  Slot victim(uint64_t line) {
    if (replacement_ != Replacement::kLru) [[unlikely]]
      return victim_by_policy(line);
    const uint64_t set = set_of(line);
    return static_cast<Slot>((set << way_shift_) + lru::victim(block(set).ages, padded_ways_, ways_));
  }
  // Puts `line` into an empty slot, without sharers.
  void fill(Slot slot, uint64_t line, State state, Slot parent_slot);
  // Empties a slot.
  void remove(Slot slot);

  uint64_t line(Slot slot) const { return tags_[slot]; }
  State state(Slot slot) const { return static_cast<State>(state_byte(slot) & kStateMask); }
  void set_state(Slot slot, State new_state) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>((byte & ~kStateMask) | static_cast<uint8_t>(new_state));
    if (!fronts_.empty() && fronts_[slot >> way_shift_].line_by_write[0] == tags_[slot]) set_front(slot);
  }
  // The slot of the line in the next cache toward memory.
  Slot parent_slot(Slot slot) const { return parent_slots_[slot]; }

  void set_parent_slot(Slot slot, Slot parent_slot) { parent_slots_[slot] = parent_slot; }

  // What LineDirectory has too: permission and data of the whole subtree.
  bool exclusive(Slot slot) const { return is_exclusive(state(slot)); }
  void set_exclusive(Slot slot, bool exclusive) { set_state(slot, make_state(exclusive, is_dirty(state(slot)))); }
  void set_dirty(Slot slot, bool dirty) { set_state(slot, make_state(exclusive(slot), dirty)); }

  // The directory: which children hold the line (bit = number of the child, 64 to a word), and whether the only one
  // that does holds it Exclusive or Modified.
  uint32_t sharer_words() const { return sharer_words_; }
  uint64_t* sharers(Slot slot) { return &sharers_[static_cast<size_t>(slot) * sharer_words_]; }
  const uint64_t* sharers(Slot slot) const { return &sharers_[static_cast<size_t>(slot) * sharer_words_]; }
  bool owned_by_child(Slot slot) const { return (state_byte(slot) & kOwnedByChild) != 0; }
  void set_owned_by_child(Slot slot, bool owned) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>(owned ? byte | kOwnedByChild : byte & ~kOwnedByChild);
  }

  // A child holds the line Owned: it has the newest data, and it is not alone.
  bool dirty_child(Slot slot) const { return (state_byte(slot) & kDirtyChild) != 0; }
  void set_dirty_child(Slot slot, bool dirty) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>(dirty ? byte | kDirtyChild : byte & ~kDirtyChild);
  }
  // Which children held the line at any time since it came.
  uint64_t* visitors(Slot slot) { return &visitors_[static_cast<size_t>(slot) * sharer_words_]; }
  bool counts_visitors() const { return !visitors_.empty(); }

  // Level 1 only: for each set its most recent line, and the same again if it is Modified (else kNoLine). A read of the
  // first, a write of the second change nothing but counts, so the hit path needs no more than this.
  struct Front {
    uint64_t line_by_write[2] = {kNoLine, kNoLine};
  };
  const Front* fronts() const { return fronts_.data(); }
  uint64_t set_mask() const { return set_mask_; }
  uint64_t set_of(uint64_t line) const { return set_mask_ != kNoLine ? line & set_mask_ : line % sets_; }
  // `slot`, in level 1, is the most recent of its set.
  void set_front(Slot slot) {
    const uint64_t line = tags_[slot];
    fronts_[slot >> way_shift_] = {{line, state(slot) == State::kModified ? line : kNoLine}};
  }

  void clear_front(Slot slot) { fronts_[slot >> way_shift_] = {}; }

  bool check_sets(std::string* why) const;

  // All but counts.
  void archive(StateArchive& a) {
    a.array(blocks_, sets_ * padded_ways_ * kBytesPerWay);
    a.array(tags_, sets_ * padded_ways_);
    a.table(fronts_);
    a.table(parent_slots_);
    a.table(sharers_);
    a.table(visitors_);
    a.table(policy_words_);
    a.value(shared_policy_.selector);
    a.list(shared_policy_.counters);
    a.list(shared_policy_.signatures);
  }

  EventCounters events;
  uint32_t first_core = 0;
  std::vector<uint64_t> sharing_degrees;  // lines that left, by number of children that had them meanwhile
  std::vector<RequestCounters> requests;  // by core - first_core; level 1 counts in Hierarchy instead

 private:
  static constexpr uint8_t kStateMask = 7;
  static constexpr uint8_t kOwnedByChild = 8;
  static constexpr uint8_t kDirtyChild = 16;
  static constexpr uint64_t kBytesPerWay = 4;  // of a set's block
  struct Block {
    uint16_t* partial_tags;
    uint8_t* ages;
    uint8_t* states;
  };

  void touch_by_policy(Slot slot);
  Slot victim_by_policy(uint64_t line);
  SetView set_view(uint64_t set) {
    return {block(set).ages, ways_, padded_ways_, policy_words_.data() + set, set * slices_ + slice_, &shared_policy_};
  }

  // kPadded: padded_ways_ if known when compiling, else 0.
  template <uint32_t kPadded>
  Slot find_in(uint64_t line) const;

  Block block(uint64_t set) const {
    uint8_t* p = blocks_ + set * padded_ways_ * kBytesPerWay;
    return {reinterpret_cast<uint16_t*>(p), p + 2 * padded_ways_, p + 3 * padded_ways_};
  }
  uint8_t& state_byte(Slot slot) const { return block(slot >> way_shift_).states[slot & way_mask_]; }

  uint32_t padded_ways_;
  uint64_t set_mask_;  // kNoLine when sets_ is no power of two
  uint8_t* blocks_;
  uint64_t* tags_;      // per slot; kNoLine when empty
  uint32_t way_shift_;  // slot >> way_shift_ is the set, slot & way_mask_ the way
  uint32_t way_mask_;
  uint64_t sets_;
  uint32_t ways_;
  uint32_t sharer_words_;
  std::vector<Front> fronts_;  // by set; empty but in level 1
  std::vector<Slot> parent_slots_;
  std::vector<uint64_t> sharers_;
  std::vector<uint64_t> visitors_;  // empty with fewer than two children
  uint32_t slices_, slice_;
  Replacement replacement_;
  bool fill_is_hit_ = true;
  std::vector<uint64_t> policy_words_;  // by set; empty for LRU
  SharedPolicyState shared_policy_;
  std::vector<uint64_t> tag_storage_;
  std::vector<uint8_t> block_storage_;
  std::string name_;
};

template <uint32_t kPadded>
Slot Cache::find_in(uint64_t line) const {
  const uint64_t set = set_of(line);
  const uint32_t padded_ways = kPadded != 0 ? kPadded : padded_ways_;
  const uint64_t first = set * padded_ways;
  const uint64_t* tags = tags_ + first;
#if defined(__SSE2__)
  const auto* partial = reinterpret_cast<const __m128i*>(blocks_ + first * kBytesPerWay);
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(partial_tag(line)));
  for (uint32_t i = 0; i < padded_ways; i += 8) {
    auto mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_load_si128(partial + i / 8), wanted)));
    while (mask != 0) {  // two bits per way
      const uint32_t way = i + std::countr_zero(mask) / 2;
      if (tags[way] == line) [[likely]]
        return static_cast<Slot>(first + way);
      mask &= mask - 1;
      mask &= mask - 1;
    }
  }
#else
  for (uint32_t way = 0; way < padded_ways; ++way)
    if (tags[way] == line) return static_cast<Slot>(first + way);
#endif
  return kNoSlot;
}

template <uint32_t kPadded>
Cache::HitResult Cache::hit_in_level1(uint64_t line, uint32_t write) {
  const Slot slot = find_in<kPadded>(line);
  if (slot == kNoSlot) return {Hit::kMiss, slot};
  const uint32_t padded_ways = kPadded != 0 ? kPadded : padded_ways_;
  const uint32_t way = slot & (padded_ways - 1);
  uint8_t* ages = blocks_ + static_cast<size_t>(slot - way) * kBytesPerWay + 2 * padded_ways;
  if (kPadded == 8)
    lru::touch_8(ages, way);
  else
    lru::touch(ages, padded_ways, way);
  const bool modified =
      ages[padded_ways + way] == static_cast<uint8_t>(State::kModified);  // no directory bits in level 1
  fronts_[kPadded != 0 ? slot / kPadded : slot >> way_shift_] = {{line, modified ? line : kNoLine}};
  return {(write & !modified) != 0 ? Hit::kFirstWrite : Hit::kDone, slot};
}

}  // namespace simrun::sim
