// Replacement, said plainly, for the reference model: a set is a vector of ways, and each way has whatever numbers its
// policy needs. Shares no code with sim/replacement/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

struct ReferenceLine {
  uint64_t number;
  State state;
  // By policy:
  uint64_t used = 0;   // time of the last use (or insertion); the smallest goes first
  int bit = 0;         // used recently
  int prediction = 3;  // RRIP
  bool was_hit = false;
};

struct ReferenceSet {
  uint64_t number = 0;
  std::vector<std::optional<ReferenceLine>> ways;
  std::vector<int> tree;  // tree PLRU: a flag for each node, 1-based: the victim is to the right
  uint64_t fills = 0;
  uint64_t random = 0;
};

class ReferenceReplacement {
 public:
  ReferenceReplacement(Replacement policy, uint64_t sets, size_t ways);

  ReferenceSet& set(uint64_t line) { return sets_[line % sets_.size()]; }
  void hit(ReferenceSet& set, size_t way);
  // The way for a new line: an empty one if there is one, else the way to empty first.
  size_t choose(ReferenceSet& set);
  void filled(ReferenceSet& set, size_t way);
  void removed(ReferenceSet& set, size_t way);
  std::vector<ReferenceSet>& sets() { return sets_; }

 private:
  bool use_second(const ReferenceSet& set);
  void use(ReferenceSet& set, size_t way) { set.ways[way]->used = ++now_; }
  void insert_first_to_go(ReferenceSet& set, size_t way) {
    set.ways[way]->used = static_cast<uint64_t>(-static_cast<int64_t>(++now_));
  }
  void point_away(ReferenceSet& set, size_t way);
  uint64_t region_hash(uint64_t line) const { return ((line / 256) * 0x9e3779b97f4a7c15u) >> 50; }

  Replacement policy_;
  std::vector<ReferenceSet> sets_;
  size_t leaves_;  // tree PLRU
  uint64_t now_ = 0;
  int selector_ = 511;
  std::map<uint64_t, int> region_counters_;  // missing: 1
};

}  // namespace simrun::sim
