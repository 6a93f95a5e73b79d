// What must hold between two accesses, over the whole tree. Slow: tests, and runs with --check.
#include <bit>

#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

bool CoherentTree::check_invariants(std::string* why) const {
  const auto fail = [&](const std::string& what) {
    if (why != nullptr) *why = what;
    return false;
  };
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Cache& cache = caches_[id];
    if (!cache.check_sets(why)) return false;
    for (Slot slot = 0; slot < cache.sets() * cache.padded_ways(); ++slot) {
      if (cache.line(slot) == kNoLine) continue;
      const std::string error = line_error(id, slot);
      if (!error.empty()) return fail(cache.name() + ", line " + std::to_string(cache.line(slot)) + ": " + error);
    }
  }
  return true;
}

// Why the line in `slot` of cache `id` breaks an invariant with its parent or its children; empty if it does not.
std::string CoherentTree::line_error(NodeId id, Slot slot) const {
  const Cache& cache = caches_[id];
  const Node& n = nodes_[id];
  const uint64_t line = cache.line(slot);
  const Slot above = cache.parent_slot(slot);
  if (n.parent != kMemory) {
    const Cache& parent = caches_[n.parent];
    if (parent.find(line) == kNoSlot || parent.find(line) != above) return "not included in " + parent.name();
    if (!(parent.sharers(above)[n.child_number / 64] >> (n.child_number % 64) & 1))
      return "not in its parent's directory";
    if (is_exclusive(cache.state(slot)) && !is_exclusive(parent.state(above)))
      return "exclusive, but its parent is not";
    if (is_exclusive(cache.state(slot)) && !parent.owned_by_child(above))
      return "exclusive, but its parent does not know";
  } else if (directory_at_memory()) {
    if (memory_directory_.find(line) != above) return "not in the directory at memory";
    const std::string error = directory_error(memory_directory_, kMemory, above, true);
    if (!error.empty()) return "directory at memory: " + error;
    if (!(memory_directory_.sharers(above)[n.child_number / 64] >> (n.child_number % 64) & 1))
      return "not in the directory at memory";
    if (is_exclusive(cache.state(slot)) && !memory_directory_.owned_by_child(above))
      return "exclusive, but memory does not know";
  } else if (!is_exclusive(cache.state(slot))) {
    return "shared in the only cache of the last level";
  }
  return directory_error(cache, id, slot, is_exclusive(cache.state(slot)));
}

template <typename Directory>
std::string CoherentTree::directory_error(const Directory& directory, NodeId parent, Slot slot,
                                          bool parent_exclusive) const {
  uint32_t sharers = 0, owners = 0;
  const std::vector<NodeId>& children = children_of(parent);
  for (uint32_t child = 0; child < children.size(); ++child) {
    if (!(directory.sharers(slot)[child / 64] >> (child % 64) & 1)) continue;
    const Cache& cache = caches_[children[child]];
    const Slot there = cache.find(directory.line(slot));
    if (there == kNoSlot) return "the directory names " + cache.name() + ", which does not hold it";
    ++sharers;
    owners += is_exclusive(cache.state(there));
  }
  if (owners > 1 || (owners == 1 && sharers > 1)) return "a writer is not alone";
  if ((owners == 1) != directory.owned_by_child(slot)) return "the directory is wrong about an exclusive child";
  if (owners == 1 && !parent_exclusive) return "a child is exclusive under a shared line";
  return {};
}

}  // namespace simrun::sim
