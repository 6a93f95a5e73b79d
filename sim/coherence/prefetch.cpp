// Prefetching into a cache of the tree: what its prefetchers see of the demand accesses that arrive, and the requests
// that they make when the access is finished. A prefetch is a read of its own that ends in the cache that asked for it.
#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

void CoherentTree::build_prefetchers(const MachineConfig& config) {
  prefetch_units_.resize(nodes_.size());
  for (const bool data : {false, true}) {
    latency_[data].clear();
    for (const LevelConfig& l : config.levels)
      latency_[data].push_back((!l.split ? l.unified : data ? l.data : l.instruction).latency);
    latency_[data].push_back(config.memory_latency);
  }
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const LevelConfig& l = config.levels[nodes_[id].level];
    const Side side = nodes_[id].side;
    const CacheShape& shape = side == Side::kUnified ? l.unified : side == Side::kInstruction ? l.instruction : l.data;
    if (shape.prefetch.empty()) continue;
    nodes_[id].prefetches = true;
    prefetch_units_[id] = std::make_unique<PrefetchUnit>(shape.prefetch, config.line_bytes,
                                                         caches_[id].sets() * caches_[id].padded_ways());
  }
}

uint64_t CoherentTree::clock() const {
  uint64_t sum = -clock_.ahead;
#pragma GCC unroll 8
  for (size_t kind = 0; kind < kAccessKinds; ++kind) sum += clock_.fetches[kind] + clock_.data[kind];
  return sum;
}

void CoherentTree::observe(NodeId node, const Request& request, Slot slot) {
  if (request.kind == Access::kPrefetch) return;
  PrefetchUnit& unit = *prefetch_units_[node];
  bool is_new = slot == kNoSlot;
  if (slot != kNoSlot && unit.marked[slot] != 0) {
    const PrefetchUnit::Mark& mark = unit.marks[slot];
    is_new = true;
    unit.marked[slot] = 0;
    if (nodes_[node].level == 0) caches_[node].see(slot);
    ++unit.useful;
    unit.late += mark.core == request.core && clock() < mark.ready;
  }
  if (!is_new && !unit.predictor.sees_hits()) return;
  unit.predictor.observe(request.line, pc_, is_new, [&](uint64_t line) { wanted_.push_back({node, request.core, line}); });
}

void CoherentTree::prefetch_wanted() {
  prefetching_ = true;
  for (size_t i = 0; i < wanted_.size(); ++i) prefetch_line(wanted_[i]);
  wanted_.clear();
  prefetching_ = false;
}

void CoherentTree::prefetch_line(const Wanted& wanted) {
  const NodeId node = wanted.node;
  PrefetchUnit& unit = *prefetch_units_[node];
  if (entry_of(node, wanted.line) != kNoSlot) {
    ++unit.redundant;
    return;
  }
  ++unit.issued;
  const Request request{wanted.core, Access::kPrefetch, wanted.line};
  Slot slot = kNoSlot;
  if (const LruWay* way = near_ways_[node]; way != nullptr && nobody_watches()) {
    slot = (this->*way->miss_near)(*way, request);
  } else if (nodes_[node].holds_directory()) {
    slot = take_from_parent(node, request);
    if (slot == kNoSlot) slot = allocate(node, request);
  } else {
    Slot entry = kNoSlot;
    fetch_tracked(node, request, entry);
    slot = directories_[node].data(entry);
  }
  unit.marked[slot] = 1;
  unit.marks[slot] = {wanted.core, clock() + latency_[nodes_[node].side != Side::kInstruction][service_.level]};
  if (nodes_[node].level == 0) caches_[node].close(slot);
}

}  // namespace simrun::sim
