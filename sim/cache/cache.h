// One set-associative array: which lines, in what state, how recent, and what the tree of caches needs to know of each
// line. It knows nothing of other caches; the protocol is in sim/coherence/.
//
// Layout. Each set has a block: per way a 16-bit partial tag, an age byte, a state byte, each row padded to a power
// of two of at least 8 ways. A block of 16 ways is one host line, of 8 ways half a line: search, recency and choice of
// a victim touch that alone. Full tags verify a candidate; partial tags are a hash of the whole line number, so that a
// miss rarely has a candidate. All else that belongs to a line lies together too, half a host line (`Line`): so a miss
// touches two host lines of a cache that is too large for the host's own caches, the block and the line.
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
  Cache(Cache&&) noexcept = default;  // no copies: blocks_ and lines_ point into the storage
  Cache& operator=(Cache&&) noexcept = default;

  const std::string& name() const { return name_; }
  uint64_t sets() const { return sets_; }
  uint32_t ways() const { return ways_; }
  uint32_t padded_ways() const { return padded_ways_; }

  // Level 1: find(), which looks first where the line was last.
  Slot find_guessed(uint64_t line) const {
    const Slot guess = guesses_[place_of(line)];
    return kept(guess).line == line ? guess : find(line);
  }
  // The slot of `line`, or kNoSlot. No effect on recency.
  Slot find(uint64_t line) const { return padded_ways_ == 8 ? find_in<8>(line) : find_in<0>(line); }
  void touch(Slot slot) {
    if (order_ == Order::kAges) [[likely]]
      lru::touch(block(slot >> way_shift_).ages, padded_ways_, slot & way_mask_);
    else if (order_ == Order::kTimes)
      recent_[slot].used = ++clock_;
    else
      touch_by_policy(slot);
  }
  Replacement replacement() const { return replacement_; }

  // The hit of level 1 where the guess was wrong, by LRU: finds the line, makes it the most recent, corrects the guess.
  // kPadded: padded_ways() if it is 8, else 0, so that it is a constant in here.
  enum class Hit : uint8_t { kDone, kMiss, kFirstWrite };  // kFirstWrite: a write, the line is there but not Modified
  struct HitResult {
    Hit hit;
    Slot slot;  // unless kMiss
  };
  template <uint32_t kPadded>
  HitResult hit_in_level1(uint64_t line, bool write);
  // Where `line` will go: an empty way of its set, else the one that the policy chooses.
  Slot victim(uint64_t line) {
    const uint64_t set = set_of(line);
    if (order_ == Order::kTimes) return victim_by_time(static_cast<Slot>(set << way_shift_));
    if (order_ == Order::kPolicy) [[unlikely]]
      return victim_by_policy(line);
    return static_cast<Slot>((set << way_shift_) + lru::victim(block(set).ages, padded_ways_, ways_));
  }
  // Puts `line` into an empty slot, without sharers.
  void fill(Slot slot, uint64_t line, State state, Slot parent_slot);
  // Empties a slot.
  void remove(Slot slot);
  // Level 1 with LRU: remove(), if the slot is in use, and fill() at once.
  bool orders_by_time() const { return order_ == Order::kTimes; }
  void replace(Slot slot, uint64_t line, State state, Slot parent_slot) {
    const Block b = block(slot >> way_shift_);
    const uint32_t way = slot & way_mask_;
    b.partial_tags[way] = partial_tag(line);
    b.states[way] = static_cast<uint8_t>(state);
    kept(slot).line = line;
    kept(slot).parent_slot = parent_slot;
    recent_[slot] = {line << 1 | uint64_t{state == State::kModified}, ++clock_};
    guesses_[place_of(line)] = static_cast<Guess>(slot);
  }
  // Further levels with LRU, at most 64 children: the same. The slot is victim().
  bool orders_by_age() const { return order_ == Order::kAges; }
  void replace_oldest(Slot slot, uint64_t line, State state, Slot parent_slot) {
    const Block b = block(slot >> way_shift_);
    const uint32_t way = slot & way_mask_;
    b.partial_tags[way] = partial_tag(line);
    b.states[way] = static_cast<uint8_t>(state);
    kept(slot) = {line, 0, 0, parent_slot};
    lru::touch(b.ages, padded_ways_, way);
  }
  // The set of a line that will be wanted soon.
  void prefetch_set(uint64_t line) const { __builtin_prefetch(block(set_of(line)).partial_tags); }

  uint64_t line(Slot slot) const { return kept(slot).line; }
  State state(Slot slot) const { return static_cast<State>(state_byte(slot) & kStateMask); }
  void set_state(Slot slot, State new_state) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>((byte & ~kStateMask) | static_cast<uint8_t>(new_state));
    if (!recent_.empty() && recent_[slot].key != kClosed) recent_[slot].key = key_of(slot);
  }
  // The slot of the line in the next cache toward memory.
  Slot parent_slot(Slot slot) const { return kept(slot).parent_slot; }

  void set_parent_slot(Slot slot, Slot parent_slot) { kept(slot).parent_slot = parent_slot; }

  // What LineDirectory has too: permission and data of the whole subtree.
  bool exclusive(Slot slot) const { return is_exclusive(state(slot)); }
  void set_exclusive(Slot slot, bool exclusive) { set_state(slot, make_state(exclusive, is_dirty(state(slot)))); }
  void set_dirty(Slot slot, bool dirty) { set_state(slot, make_state(exclusive(slot), dirty)); }

  // The directory: which children hold the line (bit = number of the child, 64 to a word), and whether the only one
  // that does holds it Exclusive or Modified.
  uint32_t sharer_words() const { return sharer_words_; }
  const uint64_t* sharers(Slot slot) const {
    return sharer_words_ == 1 ? &kept(slot).sharers : &more_sharers_[static_cast<size_t>(slot) * sharer_words_];
  }
  uint64_t* sharers(Slot slot) { return const_cast<uint64_t*>(std::as_const(*this).sharers(slot)); }
  bool owned_by_child(Slot slot) const { return (state_byte(slot) & kOwnedByChild) != 0; }
  void set_owned_by_child(Slot slot, bool owned) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>(owned ? byte | kOwnedByChild : byte & ~kOwnedByChild);
  }

  // If no child holds the line: `child` does from now on, exclusively or not; true. For at most 64 children.
  bool add_first_sharer(Slot slot, uint32_t child, bool exclusively) {
    uint8_t& byte = state_byte(slot);
    Line& l = kept(slot);
    if (l.sharers != 0 || (byte & kDirtyChild) != 0) return false;
    l.sharers = uint64_t{1} << child;
    l.visitors |= l.sharers;
    byte = static_cast<uint8_t>((byte & ~kOwnedByChild) | (exclusively ? kOwnedByChild : 0));
    return true;
  }

  // A child holds the line Owned: it has the newest data, and it is not alone.
  bool dirty_child(Slot slot) const { return (state_byte(slot) & kDirtyChild) != 0; }
  void set_dirty_child(Slot slot, bool dirty) {
    uint8_t& byte = state_byte(slot);
    byte = static_cast<uint8_t>(dirty ? byte | kDirtyChild : byte & ~kDirtyChild);
  }
  // At most 64 children: those that hold the line, and `child` no longer does.
  uint64_t only_sharers(Slot slot) const { return kept(slot).sharers; }
  void drop_owner(Slot slot, uint32_t child) {
    kept(slot).sharers &= ~(uint64_t{1} << child);
    set_owned_by_child(slot, false);
  }
  // Which children held the line at any time since it came.
  uint64_t* visitors(Slot slot) {
    return sharer_words_ == 1 ? &kept(slot).visitors : &more_visitors_[static_cast<size_t>(slot) * sharer_words_];
  }
  bool counts_visitors() const { return counts_visitors_; }
  void count_visitors(Slot slot) {
    uint32_t degree = 0;
    for (uint32_t word = 0; word < sharer_words_; ++word)
      for (uint64_t bits = visitors(slot)[word]; bits != 0; bits &= bits - 1) ++degree;
    ++sharing_degrees[degree];
  }

  // Level 1 only, for each slot. It is *open* when a read of its line, or a write if it is Modified, changes nothing
  // but counts and the time: with LRU, FIFO and random each line is, with the other policies the most recent of its
  // set.
  struct Recent {
    uint64_t key = kClosed;  // line * 2, and 1 if Modified
    uint64_t used = 0;       // the clock at its last use: the order of LRU; 0 when empty
    bool answers(uint64_t line, bool write) const { return (key | uint64_t{!write}) == (line << 1 | 1); }
  };
  static constexpr uint64_t kClosed = ~uint64_t{0};  // no line: they have two bits less at least (kMinLineBytes)
  // A slot, if it is one of the first 65536: level 1 is rarely larger, and small tables are what a hit is fast by.
  using Guess = uint16_t;
  // What a hit needs: find() gives the line's Recent, if the guess is right. Valid as long as the cache.
  struct Shortcut {
    Recent* slots;
    const Guess* guesses;
    uint64_t guess_mask;
    uint64_t* clock;
    Recent& find(uint64_t line) const { return slots[guesses[place(line)]]; }
    uint64_t place(uint64_t line) const { return place_of(line, guess_mask); }
  };
  // Lines in a row have places in a row; regions that lie a power of two apart have different ones.
  static uint64_t place_of(uint64_t line, uint64_t guess_mask) { return (line ^ line >> 11) & guess_mask; }
  uint64_t place_of(uint64_t line) const { return place_of(line, guesses_.size() - 1); }
  Shortcut shortcut() { return {recent_.data(), guesses_.data(), guesses_.size() - 1, &clock_}; }
  uint64_t set_of(uint64_t line) const { return set_mask_ != kNoLine ? line & set_mask_ : line % sets_; }
  // `slot`, in level 1, is the most recent of its set.
  void open(Slot slot) {
    if (!all_open_) [[unlikely]]
      close_set(slot), open_[slot >> way_shift_] = slot;
    recent_[slot].key = key_of(slot);
    guesses_[place_of(kept(slot).line)] = static_cast<Guess>(slot);
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
    a.array(blocks_, sets_ * padded_ways_ * kBytesPerWay);
    a.array(lines_, sets_ * padded_ways_);
    a.table(recent_);
    a.table(open_);
    a.value(clock_);
    a.table(more_sharers_);
    a.table(more_visitors_);
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
  // What is kept of a slot beside its set's block. Sharers and visitors: of at most 64 children.
  struct alignas(32) Line {
    uint64_t line = kNoLine;
    uint64_t sharers = 0, visitors = 0;
    Slot parent_slot = kNoSlot;
    uint32_t unused = 0;  // no padding: they are stored as bytes
  };
  static_assert(sizeof(Line) == 32);
  struct Block {
    uint16_t* partial_tags;
    uint8_t* ages;
    uint8_t* states;
  };

  // What keeps the order of the lines of a set: LRU by ages or, in level 1, by times; another policy.
  enum class Order : uint8_t { kAges, kTimes, kPolicy };

  bool check_recent(std::string* why) const;
  uint64_t key_of(Slot slot) const { return kept(slot).line << 1 | uint64_t{state(slot) == State::kModified}; }
  void touch_by_policy(Slot slot);
  Slot victim_by_policy(uint64_t line);
  // Empty slots have the time 0, so the lowest of them goes first. Minima of numbers: no branch.
  Slot victim_by_time(Slot first) const {
    const Recent* const set = &recent_[first];
    const auto dated = [&](uint32_t way) { return set[way].used << 7 | way; };
    static_assert(kMaxWays < 1 << 7);
    uint64_t oldest;
    if (ways_ == 8) {
      const auto older = [&](uint32_t way) { return std::min(dated(way), dated(way + 1)); };
      oldest = std::min(std::min(older(0), older(2)), std::min(older(4), older(6)));
    } else {
      oldest = dated(0);
      for (uint32_t way = 1; way < ways_; ++way) oldest = std::min(oldest, dated(way));
    }
    return first + static_cast<Slot>(oldest & 127);
  }
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
  // All first ways, then all second ones, ...: neighbouring lines usually have the same way, so that what a stream of
  // misses touches lies in a row (of triad, 62 % of the time went into waiting for it, set by set).
  Line& kept(Slot slot) const { return lines_[(slot & way_mask_) * sets_ + (slot >> way_shift_)]; }
  uint8_t& state_byte(Slot slot) const { return block(slot >> way_shift_).states[slot & way_mask_]; }

  uint32_t padded_ways_;
  uint64_t set_mask_;  // kNoLine when sets_ is no power of two
  uint8_t* blocks_;
  Line* lines_;         // kept()
  uint32_t way_shift_;  // slot >> way_shift_ is the set, slot & way_mask_ the way
  uint32_t way_mask_;
  uint64_t sets_;
  uint32_t ways_;
  uint32_t sharer_words_;
  Order order_ = Order::kAges;
  bool all_open_ = true;
  uint64_t clock_ = 0;          // of level 1: grows with each use
  std::vector<Recent> recent_;  // by slot; empty but in level 1
  std::vector<Guess> guesses_;  // by place; likewise
  std::vector<Slot> open_;      // by set: which slot is open, unless all are
  std::vector<uint64_t> more_sharers_, more_visitors_;  // of more than 64 children
  bool counts_visitors_ = false;  // it has several children, and their directory
  uint32_t slices_, slice_;
  Replacement replacement_;
  bool fill_is_hit_ = true;             // a hit right after a fill changes nothing, so a fill opens its slot
  std::vector<uint64_t> policy_words_;  // by set; empty for LRU
  SharedPolicyState shared_policy_;
  std::vector<Line, HugePages<Line>> line_storage_;
  std::vector<uint8_t> block_storage_;
  std::string name_;
};

template <uint32_t kPadded>
Slot Cache::find_in(uint64_t line) const {
  const uint64_t set = set_of(line);
  const uint32_t padded_ways = kPadded != 0 ? kPadded : padded_ways_;
  const uint64_t first = set * padded_ways;
#if defined(__SSE2__)
  const auto* partial = reinterpret_cast<const __m128i*>(blocks_ + first * kBytesPerWay);
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(partial_tag(line)));
  for (uint32_t i = 0; i < padded_ways; i += 8) {
    auto mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_load_si128(partial + i / 8), wanted)));
    while (mask != 0) {  // two bits per way
      const uint32_t way = i + std::countr_zero(mask) / 2;
      if (kept(static_cast<Slot>(first + way)).line == line) [[likely]]
        return static_cast<Slot>(first + way);
      mask &= mask - 1;
      mask &= mask - 1;
    }
  }
#else
  for (uint32_t way = 0; way < padded_ways; ++way)
    if (kept(static_cast<Slot>(first + way)).line == line) return static_cast<Slot>(first + way);
#endif
  return kNoSlot;
}

template <uint32_t kPadded>
Cache::HitResult Cache::hit_in_level1(uint64_t line, bool write) {
  const Slot slot = find_in<kPadded>(line);
  if (slot == kNoSlot) return {Hit::kMiss, slot};
  Recent& recent = recent_[slot];
  recent.used = ++clock_;
  guesses_[place_of(line)] = static_cast<Guess>(slot);
  const bool done = recent.answers(line, write) || !write || state(slot) == State::kModified;  // it may be closed
  return {done ? Hit::kDone : Hit::kFirstWrite, slot};
}

}  // namespace simrun::sim
