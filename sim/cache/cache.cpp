// Construction, filling and emptying of a cache array, and the check of what holds within each set.
#include "sim/cache/cache.h"

#include <algorithm>

#include "sim/replacement/replacement.h"

namespace simrun::sim {

namespace {

constexpr uint64_t kHostLine = 64;
// Two lines that are in level 1 at once should rarely have one place.
constexpr uint64_t kGuessesPerSlot = 32, kLeastGuesses = 256, kMostGuesses = 1 << 16;

uint32_t pad_ways(uint32_t ways) { return ways <= 8 ? 8 : std::bit_ceil(ways); }

uint8_t* align_to_host_line(uint8_t* p) {
  return p + (kHostLine - reinterpret_cast<uintptr_t>(p) % kHostLine) % kHostLine;
}

}  // namespace

Cache::Cache(const Options& options)
    : padded_ways_(pad_ways(options.ways)),
      set_mask_(std::has_single_bit(options.sets) ? options.sets - 1 : kNoLine),
      set_shift_(static_cast<uint32_t>(std::countr_zero(options.sets))),
      has_bytes_(options.children >= 1 && options.children <= kMostChildrenInBytes),
      has_parent_(options.has_parent),
      way_shift_(std::countr_zero(padded_ways_)),
      way_mask_(padded_ways_ - 1),
      sets_(options.sets),
      ways_(options.ways),
      sharer_words_((options.children + 63) / 64),
      slices_(options.slices),
      slice_(options.slice),
      replacement_(options.replacement),
      name_(options.name) {
  CHECK(ways_ >= 1 && ways_ <= kMaxWays && sets_ >= 1 && sets_ * padded_ways_ < kNoSlot);
  const uint64_t slots = sets_ * padded_ways_;
  parents_at_ = (has_bytes_ ? 8 : 6) * padded_ways_;
  set_bytes_ = parents_at_ + (has_parent_ ? padded_ways_ * sizeof(Slot) : 0);
  upper_tags_.resize(slots);
  if (!has_bytes_) more_children_.assign(slots * 2 * sharer_words_, 0);
  block_storage_.resize(sets_ * set_bytes_ + kHostLine);
  if (options.children == 0) {
    recent_.resize(slots);
    guesses_.resize(std::clamp<uint64_t>(std::bit_ceil(slots) * kGuessesPerSlot, kLeastGuesses, kMostGuesses));
  }
  blocks_ = align_to_host_line(block_storage_.data());
  for (uint64_t set = 0; set < sets_; ++set)
    for (uint32_t way = 0; way < padded_ways_; ++way) {
      block(set).ages[way] = way < ways_ ? static_cast<uint8_t>(way) : kPaddingAge;
      block(set).tags[way] = kEmptyTag;
    }
  if (options.children > 1 && options.holds_directory) {
    counts_visitors_ = true;
    sharing_degrees.assign(options.children + 1, 0);
  }
  if (replacement_ == Replacement::kLru) {
    if (options.children == 0) order_ = Order::kTimes;
    return;
  }
  if (replacement_ == Replacement::kTreePlru && options.children == 0) {
    order_ = Order::kTreeTimes;
    return;
  }
  order_ = Order::kPolicy;
  policy_words_.assign(sets_, 0);
  shared_policy_.sets = sets_;
  with_policy(replacement_, [&](auto policy) {
    fill_is_hit_ = policy.kFillIsHit;
    all_open_ = policy.kHitIsNothing;
    for (uint64_t set = 0; set < sets_; ++set) policy.reset(set_view(set));
  });
  if (options.children != 0 || all_open_) return;
  for (uint64_t set = 0; set < sets_; ++set) open_.push_back(static_cast<Slot>(set << way_shift_));
}

Cache::Rows Cache::rows() {
  const bool fits = set_mask_ != kNoLine && (order_ == Order::kAges || order_ == Order::kTimes) && ways_ == padded_ways_ &&
                    has_bytes_ == (sharer_words_ != 0);
  return {fits ? blocks_ : nullptr, set_mask_, set_shift_, &narrow_tags_, upper_tags_.data(), has_parent_};
}

uint32_t Cache::verify(uint64_t set, uint64_t tag, uint32_t matches) const {
  for (; matches != 0; matches &= matches - 1) {
    const auto way = static_cast<uint32_t>(std::countr_zero(matches));
    const auto slot = static_cast<Slot>((set << way_shift_) + way);
    if (upper_tags_[slot] == tag >> 32 && holds_line(slot)) return 1u << way;
  }
  return 0;
}

void Cache::touch_by_policy(Slot slot) {
  with_policy(replacement_, [&](auto policy) { policy.hit(set_view(slot >> way_shift_), slot & way_mask_); });
}

Slot Cache::victim_by_policy(uint64_t line) {
  const uint64_t set = set_of(line);
  const Slot first = static_cast<Slot>(set << way_shift_);
  if (const uint32_t empty = lowest_with(block(set).states, ways_, kStateMask, 0); empty != ways_) return first + empty;
  return first + with_policy(replacement_, [&](auto policy) { return policy.victim(set_view(set)); });
}

// What is there leaves, and `line` comes: remove() and fill() of a cache behind level 1.
void Cache::refill_by_policy(Slot slot, uint64_t line, State state, Slot parent_slot) {
  const uint32_t way = slot & way_mask_;
  const bool was_in_use = holds_line(slot);
  put(slot, line, state, parent_slot);
  forget_children(slot);
  with_policy(replacement_, [&](auto policy) {
    const SetView set = set_view(slot >> way_shift_);
    if (was_in_use) policy.remove(set, way);
    policy.fill(set, way, line);
  });
}

// The way that a tree over kLeaves ways comes to, each node pointing away from the half that was used last, of which each has a
// way. Which half it is cannot be foreseen, so without a branch: used[i] is the last time below node i, whose halves are nodes 2i
// and 2i + 1; 0 without ways. All ways have been used.
template <uint32_t kLeaves>
uint32_t Cache::oldest_of_tree(const Recent* set) const {
  // The times of padding are 0; a tree for any number of ways may have more leaves than there is padding.
  const auto leaf = [&](uint32_t way) { return kLeaves <= 16 || way < ways_ ? set[way].used : 0; };
  uint64_t used[kLeaves];  // of nodes above the leaves
#pragma GCC unroll 16
  for (uint32_t node = kLeaves / 2; node < kLeaves; ++node) used[node] = std::max(leaf(2 * node - kLeaves), leaf(2 * node + 1 - kLeaves));
#pragma GCC unroll 16
  for (uint32_t node = kLeaves / 2 - 1; node != 0; --node) used[node] = std::max(used[2 * node], used[2 * node + 1]);
  uint32_t node = 1;
#pragma GCC unroll 4
  while (node < kLeaves / 2) {
    const uint64_t left = used[2 * node], right = used[2 * node + 1];
    node = 2 * node + (right - 1 < left - 1);  // right < left, and not 0
  }
  const uint64_t left = leaf(2 * node - kLeaves), right = leaf(2 * node + 1 - kLeaves);
  return 2 * node + (right - 1 < left - 1) - kLeaves;
}

// Each node of the tree points away from the half that was used last: the one with the later time, for a line's time
// stays when it leaves. As replacement::TreePlru, whose bytes a hit would have to change.
Slot Cache::victim_by_tree(Slot first) const {
  const uint32_t empty = lowest_with(block(first >> way_shift_).states, ways_, kStateMask, 0);
  if (empty != ways_) return first + empty;
  if (padded_ways_ == 8) return first + oldest_of_tree<8>(&recent_[first]);
  if (padded_ways_ == 16) return first + oldest_of_tree<16>(&recent_[first]);
  return first + oldest_of_tree<std::bit_ceil(kMaxWays)>(&recent_[first]);
}

void Cache::fill(Slot slot, uint64_t line, State state, Slot parent_slot) {
  DCHECK(!holds_line(slot));
  const uint32_t way = slot & way_mask_;
  put(slot, line, state, parent_slot);
  forget_children(slot);
  if (order_ == Order::kPolicy) [[unlikely]]
    with_policy(replacement_, [&](auto policy) { policy.fill(set_view(slot >> way_shift_), way, line); });
  else
    touch(slot);
  if (recent_.empty()) return;
  if (fill_is_hit_) [[likely]]
    open(slot);
  else
    close_set(slot);
}

void Cache::remove(Slot slot) {
  const uint32_t way = slot & way_mask_;
  Block b = block(slot >> way_shift_);
  if (!recent_.empty()) recent_[slot] = {kClosed, order_ == Order::kTreeTimes ? recent_[slot].used : 0};
  b.tags[way] = kEmptyTag;
  b.states[way] = static_cast<uint8_t>(State::kInvalid);
  if (order_ == Order::kAges) [[likely]]
    lru::retire(b.ages, padded_ways_, ways_, way);
  else if (order_ == Order::kPolicy)
    with_policy(replacement_, [&](auto policy) { policy.remove(set_view(slot >> way_shift_), way); });
}

bool Cache::check_sets(std::string* why) const {
  const auto fail = [&](uint64_t set, const char* what) {
    if (why != nullptr) *why = name_ + ", set " + std::to_string(set) + ": " + what;
    return false;
  };
  const bool is_lru = order_ == Order::kAges;
  for (uint64_t set = 0; set < sets_; ++set) {
    const Block b = block(set);
    uint32_t valid = 0, seen[4] = {};
    for (uint32_t way = 0; way < ways_; ++way) valid += holds_line(static_cast<Slot>((set << way_shift_) + way));
    for (uint32_t way = 0; way < padded_ways_; ++way) {
      const auto slot = static_cast<Slot>((set << way_shift_) + way);
      const bool used = holds_line(slot);
      if (way >= ways_) {
        if (used || b.tags[way] != kEmptyTag || (is_lru && b.ages[way] != kPaddingAge))
          return fail(set, "padding in use");
        continue;
      }
      if (!used && b.tags[way] != kEmptyTag) return fail(set, "an empty way has a tag");
      if (used && (find(line(slot)) != slot || set_of(line(slot)) != set)) return fail(set, "a line is not found");
      if (!is_lru) continue;
      if (b.ages[way] >= ways_ || (seen[b.ages[way] / 32] >> (b.ages[way] % 32) & 1))
        return fail(set, "ages are no order");
      seen[b.ages[way] / 32] |= 1u << (b.ages[way] % 32);
      if (used != (b.ages[way] < valid)) return fail(set, "an empty way is not the least recent");
    }
  }
  return check_recent(why);
}

bool Cache::check_recent(std::string* why) const {
  for (Slot slot = 0; slot < recent_.size(); ++slot) {
    const Recent& r = recent_[slot];
    const uint64_t set = slot >> way_shift_;
    const auto fail = [&](const char* what) {
      if (why != nullptr) *why = name_ + ", set " + std::to_string(set) + ": " + what;
      return false;
    };
    const bool used = holds_line(slot);
    if (r.key != kClosed && (!used || r.key != key_of(slot))) return fail("a line is not as its shortcut says");
    if (r.key != kClosed && !all_open_ && open_[set] != slot) return fail("two lines are the most recent one");
    if (order_ != Order::kTimes) continue;
    if (used != (r.used != 0) || r.used > clock_) return fail("a time of last use is impossible");
    for (Slot other = static_cast<Slot>(set << way_shift_); other < slot; ++other)
      if (used && recent_[other].used == r.used) return fail("two lines were used last at the same time");
  }
  return true;
}

}  // namespace simrun::sim
