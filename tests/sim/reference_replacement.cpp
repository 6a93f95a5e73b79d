#include "tests/sim/reference_replacement.h"

namespace simrun::sim {

ReferenceReplacement::ReferenceReplacement(Replacement policy, uint64_t sets, size_t ways)
    : policy_(policy), sets_(sets), leaves_(1) {
  while (leaves_ < ways) leaves_ *= 2;
  for (uint64_t i = 0; i < sets; ++i) {
    sets_[i].number = i;
    sets_[i].ways.resize(ways);
    sets_[i].tree.resize(leaves_, 0);
    sets_[i].random = (i + 1) * 0xd1342543de82ef95u;
  }
}

// The tree over [0, leaves): at each node on the way down to `way`, the victim is in the other half.
void ReferenceReplacement::point_away(ReferenceSet& set, size_t way) {
  size_t node = 1, first = 0;
  for (size_t size = leaves_; size > 1; size /= 2) {
    const bool right = way >= first + size / 2;
    set.tree[node] = right ? 0 : 1;
    node = 2 * node + (right ? 1 : 0);
    if (right) first += size / 2;
  }
}

void ReferenceReplacement::hit(ReferenceSet& set, size_t way) {
  ReferenceLine& line = *set.ways[way];
  switch (policy_) {
    case Replacement::kLru:
    case Replacement::kLip:
    case Replacement::kBip:
    case Replacement::kDip:
      use(set, way);
      break;
    case Replacement::kFifo:
    case Replacement::kRandom:
      break;
    case Replacement::kTreePlru:
      point_away(set, way);
      break;
    case Replacement::kBitPlru: {
      line.bit = 1;
      bool all = true;
      for (const auto& w : set.ways) all = all && w && w->bit == 1;
      if (all)
        for (auto& w : set.ways) w->bit = &*w == &line;
      break;
    }
    case Replacement::kNru:
      line.bit = 1;
      break;
    case Replacement::kShip:
      if (!line.was_hit) {
        int& counter = region_counters_.try_emplace(region_hash(line.number), 1).first->second;
        if (counter < 7) ++counter;
        line.was_hit = true;
      }
      [[fallthrough]];
    case Replacement::kSrrip:
    case Replacement::kBrrip:
    case Replacement::kDrrip:
      line.prediction = 0;
      break;
  }
}

size_t ReferenceReplacement::choose(ReferenceSet& set) {
  const size_t ways = set.ways.size();
  for (size_t way = 0; way < ways; ++way)
    if (!set.ways[way]) return way;
  switch (policy_) {
    case Replacement::kTreePlru: {
      size_t node = 1, first = 0;
      for (size_t size = leaves_; size > 1; size /= 2) {
        const bool right = set.tree[node] == 1 && first + size / 2 < ways;
        node = 2 * node + (right ? 1 : 0);
        if (right) first += size / 2;
      }
      return first;
    }
    case Replacement::kRandom: {
      set.random += 0x9e3779b97f4a7c15u;
      uint64_t z = set.random;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      z = z ^ (z >> 31);
      return z % ways;
    }
    case Replacement::kBitPlru:
    case Replacement::kNru:
      for (size_t way = 0; way < ways; ++way)
        if (set.ways[way]->bit == 0) return way;
      if (policy_ == Replacement::kNru)
        for (auto& w : set.ways) w->bit = 0;
      return 0;
    case Replacement::kSrrip:
    case Replacement::kBrrip:
    case Replacement::kDrrip:
    case Replacement::kShip:
      for (;;) {
        for (size_t way = 0; way < ways; ++way)
          if (set.ways[way]->prediction == 3) return way;
        for (auto& w : set.ways) ++w->prediction;
      }
    default: {
      size_t oldest = 0;
      for (size_t way = 1; way < ways; ++way)
        if (static_cast<int64_t>(set.ways[way]->used) < static_cast<int64_t>(set.ways[oldest]->used)) oldest = way;
      return oldest;
    }
  }
}

bool ReferenceReplacement::use_second(const ReferenceSet& set) {
  const uint64_t period = sets_.size() < 64 ? sets_.size() : 64;
  if (period > 1 && set.number % period == 0) {
    if (selector_ < 1023) ++selector_;
    return false;
  }
  if (period > 1 && set.number % period == period / 2) {
    if (selector_ > 0) --selector_;
    return true;
  }
  return selector_ > 511;
}

void ReferenceReplacement::filled(ReferenceSet& set, size_t way) {
  ReferenceLine& line = *set.ways[way];
  bool rarely = false, second = false;
  if (policy_ == Replacement::kDrrip || policy_ == Replacement::kDip) second = use_second(set);
  if (policy_ == Replacement::kBrrip || policy_ == Replacement::kBip || second) rarely = ++set.fills % 32 == 0;
  switch (policy_) {
    case Replacement::kLip:
      insert_first_to_go(set, way);
      break;
    case Replacement::kBip:
      rarely ? use(set, way) : insert_first_to_go(set, way);
      break;
    case Replacement::kDip:
      second && !rarely ? insert_first_to_go(set, way) : use(set, way);
      break;
    case Replacement::kFifo:
      use(set, way);
      break;
    case Replacement::kSrrip:
      line.prediction = 2;
      break;
    case Replacement::kBrrip:
      line.prediction = rarely ? 2 : 3;
      break;
    case Replacement::kDrrip:
      line.prediction = second && !rarely ? 3 : 2;
      break;
    case Replacement::kShip:
      line.was_hit = false;
      line.prediction = region_counters_.try_emplace(region_hash(line.number), 1).first->second == 0 ? 3 : 2;
      break;
    default:
      hit(set, way);
  }
}

void ReferenceReplacement::removed(ReferenceSet& set, size_t way) {
  if (policy_ == Replacement::kShip && !set.ways[way]->was_hit) {
    int& counter = region_counters_.try_emplace(region_hash(set.ways[way]->number), 1).first->second;
    if (counter > 0) --counter;
  }
}

}  // namespace simrun::sim
