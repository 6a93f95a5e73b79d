#include "sim/curves/stack_distance.h"

#include <algorithm>

namespace simrun::sim {

StackDistance::StackDistance() : tree_(1 << 16) {}

void StackDistance::add(uint64_t time, int64_t change) {
  for (uint64_t i = time + 1; i < tree_.size(); i += i & -i) tree_[i] += change;
  in_stack_ += static_cast<uint64_t>(change);
}

uint64_t StackDistance::count_up_to(uint64_t time) const {
  int64_t sum = 0;
  for (uint64_t i = time + 1; i != 0; i -= i & -i) sum += tree_[i];
  return static_cast<uint64_t>(sum);
}

// The times in use become 0, 1, 2, ... in their order; room for as many again.
void StackDistance::renumber() {
  std::vector<std::pair<uint64_t, uint64_t*>> used;
  for (auto& [line, time] : times_)
    if (time != kAbsent) used.emplace_back(time, &time);
  for (const uint64_t hole : holes_) used.emplace_back(hole, nullptr);
  std::sort(used.begin(), used.end());
  holes_.clear();
  for (uint64_t i = 0; i < used.size(); ++i) {
    if (used[i].second != nullptr)
      *used[i].second = i;
    else
      holes_.insert(holes_.end(), i);
  }
  now_ = used.size();
  in_stack_ = 0;
  tree_.assign(std::max<size_t>(2 * used.size() + 2, 1 << 16), 0);
  for (uint64_t i = 0; i < now_; ++i) add(i, 1);
}

void StackDistance::push(uint64_t& time) {
  time = now_++;
  add(time, 1);
}

uint64_t StackDistance::access(uint64_t line) {
  ++accesses_;
  if (line == last_line_) {
    ++by_distance_[0];
    return 0;
  }
  if (now_ + 2 >= tree_.size()) renumber();
  last_line_ = line;
  if (by_distance_.empty()) by_distance_.resize(1);
  const auto [entry, is_first] = times_.try_emplace(line, kAbsent);
  uint64_t& time = entry->second;
  if (time == kAbsent) {
    ++(is_first ? compulsory_ : invalidated_);
    if (!holes_.empty()) {
      add(*holes_.rbegin(), -1);
      holes_.erase(std::prev(holes_.end()));
    }
    push(time);
    return is_first ? kFirst : kTakenAway;
  }
  const uint64_t distance = in_stack_ - count_up_to(time);
  if (distance >= by_distance_.size()) by_distance_.resize(std::max(distance + 1, 2 * by_distance_.size()));
  ++by_distance_[distance];
  uint64_t place = time;  // that becomes free: the line's own, unless a hole above it is filled
  if (!holes_.empty() && *holes_.rbegin() > time) {
    place = *holes_.rbegin();
    holes_.erase(std::prev(holes_.end()));
    holes_.insert(time);
  }
  add(place, -1);
  push(time);
  return distance;
}

void StackDistance::invalidate(uint64_t line) {
  const auto entry = times_.find(line);
  if (entry == times_.end() || entry->second == kAbsent) return;
  holes_.insert(entry->second);
  entry->second = kAbsent;
  if (line == last_line_) last_line_ = kAbsent;
}

uint64_t StackDistance::misses(uint64_t lines) const {
  uint64_t hits = 0;
  for (uint64_t d = 0; d < lines && d < by_distance_.size(); ++d) hits += by_distance_[d];
  return accesses_ - hits;
}

}  // namespace simrun::sim
