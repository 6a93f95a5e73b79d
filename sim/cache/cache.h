// One set-associative array: which lines, in what state, how recent, and what the tree of caches needs to know of each
// line. It knows nothing of other caches; the protocol is in sim/coherence/.
//
// Layout. All that is kept of a set lies in one block, row by row, each row padded to a power of two of at least 8
// ways: a tag of 32 bits, an age, a state, a byte each for the children that hold the line and those that did, and the
// line's place in the next cache toward memory, where there is one. So a block of 16 ways is two host lines, of 8 ways
// one and a half, and a miss touches nothing else of a cache: search, victim, directory, and the way to its parent.
// Lines whose tag is larger than 32 bits (of small caches, or of several address spaces) have its upper half in a table
// of its own, which is looked at only when the cache has seen such a line. So have directories of more than 8 children.
//
// A *slot* is the position of a line: set * padded ways + way. A line keeps its slot as long as it is in the cache, so
// a cache nearer the core remembers its line's slot here (inclusion keeps it valid) and the way back needs no search.
//
// Level 1 has no ages: each slot has a `Recent`, the line and the time of its last use, and a table guesses the slot of
// a line, so that a hit is a look at one guess, one compare, and two stores, without a branch that depends on anything
// but whether the guess was right (decision 22; bench_sim: hits without a pattern from 115 to 430 million a second).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/build/machine_config.h"
#include "sim/cache/huge_pages.h"
#include "sim/cache/set_block.h"
#include "sim/cache/tag_search.h"
#include "sim/replacement/lru_ages.h"
#include "sim/replacement/set_view.h"
#include "sim/state_archive.h"
#include "sim/stats/statistics.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

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
    bool has_parent = true;  // false: parent slots are not kept
    // Of a slice: its set i is set i * slices + slice of the cache.
    uint32_t slices = 1, slice = 0;
  };
  explicit Cache(const Options& options);
  Cache(Cache&&) noexcept = default;  // no copies: blocks_ points into the storage
  Cache& operator=(Cache&&) noexcept = default;

  const std::string& name() const { return name_; }
  uint64_t sets() const { return sets_; }
  uint32_t ways() const { return ways_; }
  uint32_t padded_ways() const { return padded_ways_; }

  // Level 1: find(), which looks first where the line was last. at_guess() looks there only.
  Slot at_guess(uint64_t line) const {
    const Slot guess = guesses_[place_of(line)];
    return this->line(guess) == line ? guess : kNoSlot;
  }
  Slot find_guessed(uint64_t line) const {
    const Slot slot = at_guess(line);
    return slot != kNoSlot ? slot : find(line);
  }
  // The slot of `line`, or kNoSlot. No effect on recency.
  Slot find(uint64_t line) const {
    return padded_ways_ == 8 ? find_in<8>(line) : padded_ways_ == 16 ? find_in<16>(line) : find_in<0>(line);
  }
  void touch(Slot slot) {
    if (order_ == Order::kAges) [[likely]]
      lru::touch(block(slot >> way_shift_).ages, padded_ways_, slot & way_mask_);
    else if (hits_by_time())
      recent_[slot].used = ++clock_;
    else
      touch_by_policy(slot);
  }
  Replacement replacement() const { return replacement_; }
  // Level 1: any line that is hit is open, and a hit is its time alone.
  bool hits_by_time() const { return order_ == Order::kTimes || order_ == Order::kTreeTimes; }

  // The hit of level 1 where the guess was wrong, with hits_by_time(): finds the line, makes it the most recent, corrects the guess.
  // kPadded: padded_ways() if it is 8, else 0, so that it is a constant in here.
  enum class Hit : uint8_t { kDone, kMiss, kFirstWrite };  // kFirstWrite: a write, the line is there but not Modified
  struct HitResult {
    Hit hit;
    Slot slot;  // unless kMiss
  };
  template <uint32_t kPadded>
  HitResult hit_in_level1(uint64_t line, bool write);
  // The same of a line that was found in `slot`.
  Hit hit_at(Slot slot, uint64_t line, bool write) {
    Recent& recent = recent_[slot];
    recent.used = ++clock_;
    guesses_[place_of(line)] = static_cast<Guess>(slot);
    const bool done = recent.answers(line, write) || !write || state(slot) == State::kModified;  // it may be closed
    return done ? Hit::kDone : Hit::kFirstWrite;
  }
  // Where `line` will go: an empty way of its set, else the one that the policy chooses.
  Slot victim(uint64_t line) {
    if (order_ == Order::kTimes) return victim_by_time(static_cast<Slot>(set_of(line) << way_shift_));
    if (order_ == Order::kTreeTimes) return victim_by_tree(static_cast<Slot>(set_of(line) << way_shift_));
    if (order_ == Order::kPolicy) [[unlikely]]
      return victim_by_policy(line);
    return oldest(line);
  }
  // The host will look at the set of `line`.
  void prefetch_set(uint64_t line) const {
    const uint8_t* const set = base(set_of(line));
    for (uint64_t at = 0; at < set_bytes_; at += 64) __builtin_prefetch(set + at, 1);
  }
  // The same when orders_by_age().
  Slot oldest(uint64_t line) const {
    const uint64_t set = set_of(line);
    return static_cast<Slot>((set << way_shift_) + lru::victim(block(set).ages, padded_ways_, ways_));
  }
  // Puts `line` into an empty slot, without sharers.
  void fill(Slot slot, uint64_t line, State state, Slot parent_slot);
  // Empties a slot.
  void remove(Slot slot);
  // Level 1 with LRU: victim(), remove() if the slot is in use, and fill() at once. Before that, leave(slot, dirty,
  // parent slot) is called with what is in use there.
  bool orders_by_time() const { return order_ == Order::kTimes; }
  template <class Leave>
  [[gnu::always_inline]] Slot replace_least_recent(uint64_t line, State state, Slot parent_slot, Leave leave) {
    const auto first = static_cast<Slot>(set_of(line) << way_shift_);
    return replace(order_ == Order::kTimes ? victim_by_time(first) : victim_by_tree(first), line, state, parent_slot, leave);
  }
  // The same of `slot`, which is victim().
  template <class Leave>
  [[gnu::always_inline]] Slot replace(Slot slot, uint64_t line, State state, Slot parent_slot, Leave leave) {
    const auto [set, tag] = locate(line);
    const uint32_t way = slot & way_mask_;
    uint8_t *const block = base(set), *const byte = block + 5 * padded_ways_ + way;
    Slot* const parent = has_parent_ ? reinterpret_cast<Slot*>(block + parents_at_) + way : nullptr;
    if ((*byte & kStateMask) != 0) [[likely]]
      leave(slot, is_dirty(static_cast<State>(*byte & kStateMask)), parent != nullptr ? *parent : kNoSlot);
    recent_[slot] = {line << 1 | uint64_t{state == State::kModified}, ++clock_};
    guesses_[place_of(line)] = static_cast<Guess>(slot);
    if (parent != nullptr) *parent = parent_slot;
    put_tag(slot, reinterpret_cast<uint32_t*>(block) + way, tag);
    *byte = static_cast<uint8_t>(state);
    return slot;
  }
  // Further levels with LRU, at most 64 children: the same, into the oldest slot of the set of `line`. What is in use
  // there goes before: take_from_children(slot) when a child holds it, then leave(slot, dirty, parent slot).
  bool orders_by_age() const { return order_ == Order::kAges; }
  bool orders_by_policy() const { return order_ == Order::kPolicy; }
  template <class TakeFromChildren, class Leave>
  [[gnu::always_inline]] Slot replace_oldest(uint64_t line, State state, Slot parent_slot,
                                             TakeFromChildren take_from_children, Leave leave) {
    if (padded_ways_ == 8) return replace_oldest_in<8>(line, state, parent_slot, take_from_children, leave);
    if (padded_ways_ == 16) return replace_oldest_in<16>(line, state, parent_slot, take_from_children, leave);
    return replace_oldest_in<0>(line, state, parent_slot, take_from_children, leave);
  }

  // The same whatever the policy is, behind level 1.
  template <class TakeFromChildren, class Leave>
  [[gnu::always_inline]] Slot replace_victim(uint64_t line, State state, Slot parent_slot, TakeFromChildren take_from_children, Leave leave) {
    if (order_ == Order::kAges) return replace_oldest(line, state, parent_slot, take_from_children, leave);
    const Slot slot = victim_by_policy(line);
    if (holds_line(slot)) [[likely]] {
      if (sharer_words_ != 0 && sharers(slot, 0) != 0) take_from_children(slot);
      if (counts_visitors_) count_visitors(slot);
      leave(slot, is_dirty(this->state(slot)), Cache::parent_slot(slot));
    }
    refill_by_policy(slot, line, state, parent_slot);
    return slot;
  }

  // For who works on the blocks himself (sim/coherence/lru_miss.h): a SetBlock of ways() ways, each in use as the
  // padding, with bytes for children unless there are none.
  struct Rows {
    uint8_t* blocks;
    uint64_t set_mask;
    uint32_t set_shift;
    const uint64_t* narrow_tags;  // tags below that have no upper half to look at
    uint32_t* upper_tags;
    bool has_parent;
  };
  // Null blocks: the number of sets is no power of two, or the order is another, or too many children.
  Rows rows();
  // Of the ways of a set that have the lower half of a tag: that with all of it, as a mask.
  uint32_t verify(uint64_t set, uint64_t tag, uint32_t matches) const;
  // The upper half of a tag that needs more than 32 bits, or of any when the cache is wide.
  void put_upper(Slot slot, uint64_t tag) {
    keep_upper();
    upper_tags_[slot] = static_cast<uint32_t>(tag >> 32);
  }

  // From now on the upper half of each tag is put and looked at.
  void keep_upper() {
    wide_ = true;
    narrow_tags_ = 0;
  }

  bool holds_line(Slot slot) const { return state(slot) != State::kInvalid; }
  uint64_t line(Slot slot) const { return holds_line(slot) ? line_of(slot) : kNoLine; }
  State state(Slot slot) const { return static_cast<State>(state_byte(slot) & kStateMask); }
  void set_state(Slot slot, State new_state) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>((byte & ~kStateMask) | static_cast<uint8_t>(new_state));
    if (!recent_.empty() && recent_[slot].key != kClosed) recent_[slot].key = key_of(slot);
  }
  // The slot of the line in the next cache toward memory.
  Slot parent_slot(Slot slot) const { return has_parent_ ? parents(slot >> way_shift_)[slot & way_mask_] : kNoSlot; }
  void set_parent_slot(Slot slot, Slot parent_slot) {
    if (has_parent_) parents(slot >> way_shift_)[slot & way_mask_] = parent_slot;
  }

  // What LineDirectory has too: permission and data of the whole subtree.
  bool exclusive(Slot slot) const { return is_exclusive(state(slot)); }
  void set_exclusive(Slot slot, bool exclusive) { set_state(slot, make_state(exclusive, is_dirty(state(slot)))); }
  void set_dirty(Slot slot, bool dirty) { set_state(slot, make_state(exclusive(slot), dirty)); }

  // The directory: which children hold the line (bit = number of the child, 64 to a word), and whether the only one
  // that does holds it Exclusive or Modified.
  uint32_t sharer_words() const { return sharer_words_; }
  uint64_t sharers(Slot slot, uint32_t word) const { return has_bytes_ ? sharer_byte(slot) : words_of(slot)[word]; }
  // It is a visitor from then on, too.
  void add_sharer(Slot slot, uint32_t child) {
    if (has_bytes_) [[likely]] {
      sharer_byte(slot) |= bit_8(child);
      visitor_byte(slot) |= bit_8(child);
    } else {
      words_of(slot)[child / 64] |= bit_64(child);
      words_of(slot)[sharer_words_ + child / 64] |= bit_64(child);
    }
  }
  void remove_sharer(Slot slot, uint32_t child) {
    if (has_bytes_) [[likely]]
      sharer_byte(slot) &= static_cast<uint8_t>(~bit_8(child));
    else
      words_of(slot)[child / 64] &= ~bit_64(child);
  }
  bool owned_by_child(Slot slot) const { return (state_byte(slot) & kOwnedByChild) != 0; }
  void set_owned_by_child(Slot slot, bool owned) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>(owned ? byte | kOwnedByChild : byte & ~kOwnedByChild);
  }

  // If no child holds the line: `child` does from now on, exclusively or not; true. For at most 64 children.
  bool add_first_sharer(Slot slot, uint32_t child, bool exclusively) {
    if (!has_bytes_) [[unlikely]]
      return add_first_of_many(slot, child, exclusively);
    uint8_t *const p = at(slot), *const children = p + padded_ways_, *const visitors = children + padded_ways_;
    if (*children != 0 || (*p & kDirtyChild) != 0) return false;
    *children = bit_8(child);
    *visitors |= bit_8(child);
    *p = static_cast<uint8_t>((*p & ~kOwnedByChild) | (exclusively ? kOwnedByChild : 0));
    return true;
  }

  // A child holds the line Owned: it has the newest data, and it is not alone.
  bool dirty_child(Slot slot) const { return (state_byte(slot) & kDirtyChild) != 0; }
  void set_dirty_child(Slot slot, bool dirty) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>(dirty ? byte | kDirtyChild : byte & ~kDirtyChild);
  }
  // `child`, which has the line, loses it, and hands its data over if they are `dirty`.
  void leave_child(Slot slot, uint32_t child, bool dirty) {
    static_assert(static_cast<int>(State::kShared) + 1 == static_cast<int>(State::kOwned) &&
                  static_cast<int>(State::kExclusive) + 1 == static_cast<int>(State::kModified) &&
                  (static_cast<int>(State::kShared) & static_cast<int>(State::kExclusive) & 1) == 1);
    if (!has_bytes_) [[unlikely]]
      words_of(slot)[child / 64] &= ~bit_64(child);
    uint8_t *const p = at(slot), *const children = p + padded_ways_;
    if (has_bytes_) [[likely]]
      *children &= static_cast<uint8_t>(~bit_8(child));
    const uint32_t lost = dirty ? kOwnedByChild | kDirtyChild : kOwnedByChild;
    *p = static_cast<uint8_t>((*p & ~lost) + (*p & uint32_t{dirty}));  // clean states are odd
  }
  bool counts_visitors() const { return counts_visitors_; }
  void count_visitors(Slot slot) {
    uint32_t degree = 0;
    if (has_bytes_) [[likely]] {
      for (uint32_t bits = visitor_byte(slot); bits != 0; bits &= bits - 1) ++degree;
    } else {
      for (uint32_t word = sharer_words_; word < 2 * sharer_words_; ++word)
        degree += std::popcount(words_of(slot)[word]);
    }
    ++sharing_degrees[degree];
  }

  // Level 1 only, for each slot. It is *open* when a read of its line, or a write if it is Modified, changes nothing
  // but counts and the time: with LRU, FIFO and random each line is, with the other policies the most recent of its
  // set.
  struct Recent {
    uint64_t key = kClosed;  // line * 2, and 1 if Modified
    uint64_t used = 0;       // the clock at its last use: the order of LRU; 0 when empty, but with tree-PLRU
    bool answers(uint64_t line, bool write) const { return (key | uint64_t{!write}) == (line << 1 | 1); }
  };
  static constexpr uint64_t kClosed = ~uint64_t{0};  // no line: they have two bits less at least (kMinLineBytes)
  // A slot, if it is one of the first 65536: level 1 is rarely larger, and small tables are what a hit is fast by.
  using Guess = uint16_t;
  // What a hit needs: find() gives the line's Recent, if the guess is right. Valid as long as the cache.
  struct Shortcut {
    Recent* slots;
    Guess* guesses;
    uint64_t guess_mask;
    uint64_t* clock;
    Recent& find(uint64_t line) const { return slots[guesses[place(line)]]; }
    uint64_t place(uint64_t line) const { return place_of(line, guess_mask); }
  };
  // Lines in a row have places in a row; regions that lie a power of two apart have different ones, mostly.
  static constexpr uint32_t kPlaceFold = 9;
  static uint64_t place_of(uint64_t line, uint64_t guess_mask) { return (line ^ line >> kPlaceFold) & guess_mask; }
  uint64_t place_of(uint64_t line) const { return place_of(line, guesses_.size() - 1); }
  Shortcut shortcut() { return {recent_.data(), guesses_.data(), guesses_.size() - 1, &clock_}; }
  uint64_t set_of(uint64_t line) const { return set_mask_ != kNoLine ? line & set_mask_ : line % sets_; }
  // `slot`, in level 1, is the most recent of its set.
  void open(Slot slot) {
    if (!all_open_) [[unlikely]]
      close_set(slot), open_[slot >> way_shift_] = slot;
    recent_[slot].key = key_of(slot);
    guesses_[place_of(line_of(slot))] = static_cast<Guess>(slot);
  }
  // Level 1: the next access of the line is to be seen, whatever it is: until see() or, with LRU, open().
  void close(Slot slot) { recent_[slot].key = kClosed; }
  // It was, or need not be. Where only the most recent line of a set is open, open() follows if it is that one.
  void see(Slot slot) {
    if (all_open_) recent_[slot].key = key_of(slot);
  }
  bool is_closed(Slot slot) const { return recent_[slot].key == kClosed; }
  bool all_open() const { return all_open_; }
  // The most recent line of the set of `slot` may be another one now.
  void close_set(Slot slot) {
    if (!all_open_) recent_[open_[slot >> way_shift_]].key = kClosed;
  }

  bool check_sets(std::string* why) const;

  // All but counts.
  void archive(StateArchive& a) {
    a.array(blocks_, sets_ * set_bytes_);
    a.table(upper_tags_);
    a.value(wide_);
    narrow_tags_ = wide_ ? 0 : kEmptyTag;
    a.table(recent_);
    a.table(open_);
    a.value(clock_);
    a.table(more_children_);
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
  static constexpr uint32_t kMostChildrenInBytes = 8;
  static constexpr uint32_t kWayBits = 7;
  struct Block {
    uint32_t* tags;
    uint8_t* ages;
    uint8_t* states;
  };
  struct Place {
    uint64_t set, tag;
  };

  // What keeps the order of the lines of a set: LRU by ages or, in level 1, by times; level 1's tree-PLRU by times;
  // another policy.
  enum class Order : uint8_t { kAges, kTimes, kTreeTimes, kPolicy };

  bool check_recent(std::string* why) const;
  uint64_t key_of(Slot slot) const { return line_of(slot) << 1 | uint64_t{state(slot) == State::kModified}; }
  void touch_by_policy(Slot slot);
  Slot victim_by_policy(uint64_t line);
  void refill_by_policy(Slot slot, uint64_t line, State state, Slot parent_slot);
  Slot victim_by_tree(Slot first) const;
  template <uint32_t kLeaves>
  uint32_t oldest_of_tree(const Recent* set) const;
  // Empty slots have the time 0, so the lowest of them goes first. Minima of numbers: no branch. Those of SSE2 are of doubles, whose order is
  // that of their bits; 2^52 + n has n in the lower bits (a TLB of 64 entries: half of the instructions).
  Slot victim_by_time(Slot first) const {
    const Recent* const set = &recent_[first];
    static_assert(kMaxWays < 1 << kWayBits);
    const auto dated = [&](uint32_t way) { return set[way].used << kWayBits | way; };
    uint64_t oldest = dated(ways_ - 1);
#if defined(__SSE2__)
    constexpr int64_t k2To52 = 0x433ll << 52;
    __m128i ways = _mm_set_epi64x(k2To52 | 1, k2To52);
    const auto two_dated = [&](uint32_t way) {
      const auto* const low = reinterpret_cast<const double*>(&set[way].used);
      const auto* const high = reinterpret_cast<const double*>(&set[way + 1].used);
      const __m128i used = _mm_castpd_si128(_mm_loadh_pd(_mm_load_sd(low), high));
      const __m128i both = _mm_or_si128(_mm_slli_epi64(used, kWayBits), ways);
      ways = _mm_add_epi64(ways, _mm_set1_epi64x(2));
      return _mm_castsi128_pd(both);
    };
    __m128d even = _mm_set1_pd(std::bit_cast<double>(k2To52 | static_cast<int64_t>(oldest))), odd = even;
    uint32_t way = 0;
    for (; way + 4 <= ways_; way += 4) even = _mm_min_pd(even, two_dated(way)), odd = _mm_min_pd(odd, two_dated(way + 2));
    if (way + 2 <= ways_) even = _mm_min_pd(even, two_dated(way));
    even = _mm_min_pd(even, odd);
    oldest = static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_castpd_si128(_mm_min_sd(even, _mm_unpackhi_pd(even, even)))));
#else
    for (uint32_t way = 0; way + 1 < ways_; ++way) oldest = std::min(oldest, dated(way));
#endif
    return first + static_cast<Slot>(oldest & ((1 << kWayBits) - 1));
  }
  SetView set_view(uint64_t set) {
    return {block(set).ages, ways_, padded_ways_, policy_words_.data() + set, set * slices_ + slice_, &shared_policy_};
  }

  // kPadded: padded_ways_ if known when compiling, else 0.
  template <uint32_t kPadded>
  Slot find_in(uint64_t line) const;
  template <uint32_t kPadded, class TakeFromChildren, class Leave>
  Slot replace_oldest_in(uint64_t line, State state, Slot parent_slot, TakeFromChildren take_from_children,
                         Leave leave);

  uint8_t* base(uint64_t set) const { return blocks_ + set * set_bytes_; }
  Block block(uint64_t set) const {
    uint8_t* const p = base(set);
    return {reinterpret_cast<uint32_t*>(p), p + 4 * padded_ways_, p + 5 * padded_ways_};
  }
  // Of caches with 1 to kMostChildrenInBytes children.
  uint8_t& sharer_byte(Slot slot) const { return base(slot >> way_shift_)[6 * padded_ways_ + (slot & way_mask_)]; }
  uint8_t& visitor_byte(Slot slot) const { return base(slot >> way_shift_)[7 * padded_ways_ + (slot & way_mask_)]; }
  // Of caches with more: sharers, then visitors.
  uint64_t* words_of(Slot slot) { return &more_children_[size_t{slot} * 2 * sharer_words_]; }
  const uint64_t* words_of(Slot slot) const { return &more_children_[size_t{slot} * 2 * sharer_words_]; }
  Slot* parents(uint64_t set) const { return reinterpret_cast<Slot*>(base(set) + parents_at_); }
  static uint8_t bit_8(uint32_t child) { return static_cast<uint8_t>(1u << child); }
  static uint64_t bit_64(uint32_t child) { return uint64_t{1} << (child % 64); }

  Place locate(uint64_t line) const {
    if (set_mask_ != kNoLine) [[likely]]
      return {line & set_mask_, line >> set_shift_};
    return {line % sets_, line / sets_};
  }
  // Of a slot in use.
  uint64_t line_of(Slot slot) const {
    const uint64_t set = slot >> way_shift_;
    uint64_t tag = block(set).tags[slot & way_mask_];
    if (wide_) tag |= uint64_t{upper_tags_[slot]} << 32;
    return set_mask_ != kNoLine ? tag << set_shift_ | set : tag * sets_ + set;
  }
  // The state of a slot; its sharers and visitors, when they are bytes, are one and two rows further. Bytes may be part
  // of anything, so that after a store to one all members are loaded anew: several are reached from one address.
  uint8_t* at(Slot slot) const { return base(slot >> way_shift_) + 5 * padded_ways_ + (slot & way_mask_); }
  bool add_first_of_many(Slot slot, uint32_t child, bool exclusively) {
    uint8_t& byte = state_byte(slot);
    if (sharers(slot, 0) != 0 || (byte & kDirtyChild) != 0) return false;
    add_sharer(slot, child);
    byte = static_cast<uint8_t>((byte & ~kOwnedByChild) | (exclusively ? kOwnedByChild : 0));
    return true;
  }
  void put_tag(Slot slot, uint32_t* lower, uint64_t tag) {
    if (wide_ || tag >= kEmptyTag) [[unlikely]]
      put_upper(slot, tag);
    *lower = static_cast<uint32_t>(tag);
  }
  // All that is kept of a line, without children if they are bytes.
  [[gnu::always_inline]] void put(Slot slot, uint64_t line, State state, Slot parent_slot) {
    const Place place = locate(line);
    const uint32_t way = slot & way_mask_, padded_ways = padded_ways_;
    uint8_t* const set = base(place.set);
    uint8_t* const states = set + 5 * padded_ways + way;
    const bool has_bytes = has_bytes_;
    if (has_parent_) reinterpret_cast<Slot*>(set + parents_at_)[way] = parent_slot;
    put_tag(slot, reinterpret_cast<uint32_t*>(set) + way, place.tag);
    states[0] = static_cast<uint8_t>(state);
    if (has_bytes) states[padded_ways] = states[2 * padded_ways] = 0;
  }
  // The rest.
  void forget_children(Slot slot) {
    if (sharer_words_ != 0 && !has_bytes_) std::fill_n(words_of(slot), 2 * sharer_words_, 0);
  }
  uint8_t& state_byte(Slot slot) const { return block(slot >> way_shift_).states[slot & way_mask_]; }

  uint32_t padded_ways_;
  uint64_t set_mask_;   // kNoLine when sets_ is no power of two
  uint32_t set_shift_;  // their logarithm when they are
  uint64_t set_bytes_;  // of a block
  uint32_t parents_at_;
  bool has_bytes_, has_parent_;
  bool wide_ = false;           // it may hold lines whose tags do not fit 32 bits
  uint64_t narrow_tags_ = kEmptyTag;  // tags below that fit, unless it is wide: 0
  uint8_t* blocks_;
  uint32_t way_shift_;  // slot >> way_shift_ is the set, slot & way_mask_ the way
  uint32_t way_mask_;
  uint64_t sets_;
  uint32_t ways_;
  uint32_t sharer_words_;  // 0 without children
  Order order_ = Order::kAges;
  bool all_open_ = true;
  uint64_t clock_ = 0;                   // of level 1: grows with each use
  std::vector<Recent> recent_;           // by slot; empty but in level 1
  std::vector<Guess> guesses_;           // by place; likewise
  std::vector<Slot> open_;               // by set: which slot is open, unless all are
  std::vector<uint32_t> upper_tags_;     // by slot
  std::vector<uint64_t> more_children_;  // words_of()
  bool counts_visitors_ = false;         // it has several children, and their directory
  uint32_t slices_, slice_;
  Replacement replacement_;
  bool fill_is_hit_ = true;             // a hit right after a fill changes nothing, so a fill opens its slot
  std::vector<uint64_t> policy_words_;  // by set; empty for LRU
  SharedPolicyState shared_policy_;
  std::vector<uint8_t, HugePages<uint8_t>> block_storage_;
  std::string name_;
};

template <uint32_t kPadded>
inline Slot Cache::find_in(uint64_t line) const {
  const auto [set, tag] = locate(line);
  const uint32_t padded_ways = kPadded != 0 ? kPadded : padded_ways_;
  const uint32_t* const tags = block(set).tags;
  const uint32_t end = kPadded != 0 ? kPadded : ways_;  // 72 ways are padded to 128
  for (uint32_t from = 0; from < end; from += 16) {
    uint32_t mask = matches_8(tags + from, static_cast<uint32_t>(tag));
    if (padded_ways > 8) mask |= matches_8(tags + from + 8, static_cast<uint32_t>(tag)) << 8;
    const auto first = static_cast<Slot>((set << way_shift_) + from);
    if (!wide_ && tag < kEmptyTag) [[likely]] {
      if (mask != 0) return first + std::countr_zero(mask);
      continue;
    }
    for (; mask != 0; mask &= mask - 1) {
      const Slot slot = first + std::countr_zero(mask);
      if (upper_tags_[slot] == tag >> 32 && holds_line(slot)) return slot;
    }
  }
  return kNoSlot;
}

template <uint32_t kPadded, class TakeFromChildren, class Leave>
[[gnu::always_inline]] inline Slot Cache::replace_oldest_in(uint64_t line, State state, Slot parent_slot,
                                                            TakeFromChildren take_from_children, Leave leave) {
  const auto [set, tag] = locate(line);
  const uint32_t padded_ways = kPadded != 0 ? kPadded : padded_ways_;
  uint8_t *const block = base(set), *const ages = block + 4 * padded_ways;
  const uint32_t way = lru::victim(ages, padded_ways, ways_);
  uint8_t* const byte = ages + padded_ways + way;  // its state; sharers and visitors are further rows
  const auto slot = static_cast<Slot>((set << way_shift_) + way);
  if ((*byte & kStateMask) != 0) [[likely]] {
    if (has_bytes_ ? byte[padded_ways] != 0 : sharers(slot, 0) != 0) take_from_children(slot);
    if (counts_visitors_) count_visitors(slot);
    leave(slot, is_dirty(static_cast<State>(*byte & kStateMask)), Cache::parent_slot(slot));
  }
  Slot* const parents = has_parent_ ? reinterpret_cast<Slot*>(block + parents_at_) : nullptr;
  if (has_bytes_) [[likely]]
    byte[padded_ways] = byte[2 * padded_ways] = 0;
  else
    forget_children(slot);
  if (parents != nullptr) parents[way] = parent_slot;
  put_tag(slot, reinterpret_cast<uint32_t*>(block) + way, tag);
  *byte = static_cast<uint8_t>(state);
  lru::touch(ages, padded_ways, way);
  return slot;
}

template <uint32_t kPadded>
Cache::HitResult Cache::hit_in_level1(uint64_t line, bool write) {
  const Slot slot = find_in<kPadded>(line);
  if (slot == kNoSlot) return {Hit::kMiss, slot};
  return {hit_at(slot, line, write), slot};
}

}  // namespace simrun::sim
