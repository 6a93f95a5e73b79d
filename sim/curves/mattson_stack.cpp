#include "sim/curves/mattson_stack.h"

#include <algorithm>
#include <bit>

namespace simrun::sim {

MattsonStack::MattsonStack() : by_distance_(kTop) { clear(0); }

// No time is used, and there is room for so many at least.
void MattsonStack::clear(uint64_t times) {
  used_.assign(std::max<uint64_t>(times / 64 + 1, 1 << 10), 0);
  tree_.assign(used_.size() + 1, 0);
  now_ = in_tree_ = 0;
}

void MattsonStack::add(uint64_t word, uint32_t change) {
  for (uint64_t i = word + 1; i < tree_.size(); i += i & -i) tree_[i] += change;
  in_tree_ += static_cast<int32_t>(change);
}

void MattsonStack::put(uint64_t time) {
  used_[time / 64] |= uint64_t{1} << time % 64;
  add(time / 64, 1);
}

void MattsonStack::remove(uint64_t time) {
  used_[time / 64] &= ~(uint64_t{1} << time % 64);
  add(time / 64, ~uint32_t{0});
}

uint64_t MattsonStack::count_up_to(uint64_t time) const {
  uint64_t sum = static_cast<uint64_t>(std::popcount(used_[time / 64] << (63 - time % 64)));
  for (uint64_t i = time / 64; i != 0; i -= i & -i) sum += tree_[i];
  return sum;
}

// The times in use become 0, 1, 2, ... in their order; room for as many again.
void MattsonStack::renumber() {
  std::vector<Line> lines(now_, kNoLine);  // by time
  for (Line line = 0; line < times_.size(); ++line)
    if (times_[line] < kAtTop) lines[times_[line]] = line;
  std::vector<uint64_t> words;
  std::swap(words, used_);
  std::set<uint64_t> holes;
  std::swap(holes, holes_);
  clear(2 * in_tree_);
  for (uint64_t word = 0; word < words.size(); ++word)
    for (uint64_t bits = words[word]; bits != 0; bits &= bits - 1) {
      const Line line = lines[word * 64 + static_cast<uint64_t>(std::countr_zero(bits))];
      if (line != kNoLine)
        times_[line] = now_;
      else
        holes_.insert(holes_.end(), now_);
      put(now_++);
    }
}

uint32_t MattsonStack::first_hole_at_top() const {
  return static_cast<uint32_t>(std::find(top_.begin(), top_.end(), kNoLine) - top_.begin());
}

// `line` becomes the most recent, in place of what is at `free`.
void MattsonStack::raise(Line line, uint32_t free) {
  for (; free != 0; --free) top_[free] = top_[free - 1];
  top_[0] = line;
}

uint64_t MattsonStack::access(Line line) {
  ++accesses_;
  if (times_[line] != kAtTop) return access_below(line);
  uint32_t place = 0;
  while (top_[place] != line) ++place;
  ++by_distance_[place];
  uint32_t free = place;  // the line's own place, unless a hole above it is filled
  if (holes_in_top_ != 0) [[unlikely]]
    if (const uint32_t hole = first_hole_at_top(); hole < place) top_[place] = kNoLine, free = hole;
  raise(line, free);
  return place;
}

// Of a line that is not at the top.
uint64_t MattsonStack::access_below(Line line) {
  if (now_ == times()) renumber();
  const uint64_t time = times_[line];
  const bool is_there = time < kAtTop;
  uint64_t distance = time == kNew ? kFirst : kTakenAway;
  if (is_there) {
    distance = in_top_ + in_tree_ - count_up_to(time);
    if (distance >= by_distance_.size()) by_distance_.resize(std::max(distance + 1, 2 * by_distance_.size()));
    ++by_distance_[distance];
  } else {
    ++(time == kNew ? compulsory_ : invalidated_);
  }
  uint32_t free;
  if (holes_in_top_ != 0) {  // it is filled, and the line's own place becomes one
    free = first_hole_at_top();
    --holes_in_top_;
    if (is_there) holes_.insert(time);
  } else {
    if (!holes_.empty() && (!is_there || *holes_.rbegin() > time)) {
      remove(*holes_.rbegin());
      holes_.erase(std::prev(holes_.end()));
      if (is_there) holes_.insert(time);
    } else if (is_there) {
      remove(time);
    }
    if (in_top_ == kTop) {
      put(now_);
      times_[top_.back()] = now_++;
    } else {
      ++in_top_;
    }
    free = in_top_ - 1;
  }
  raise(line, free);
  times_[line] = kAtTop;
  return distance;
}

void MattsonStack::invalidate(Line line) {
  const uint64_t time = times_[line];
  if (time == kNew || time == kAbsent) return;
  if (time == kAtTop) {
    *std::find(top_.begin(), top_.end(), line) = kNoLine;
    ++holes_in_top_;
  } else {
    holes_.insert(time);
  }
  times_[line] = kAbsent;
}

uint64_t MattsonStack::misses(uint64_t lines) const {
  uint64_t hits = 0;
  for (uint64_t d = 0; d < lines && d < by_distance_.size(); ++d) hits += by_distance_[d];
  return accesses_ - hits;
}

}  // namespace simrun::sim
