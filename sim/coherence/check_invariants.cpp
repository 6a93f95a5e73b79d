// What must hold between two accesses, over the whole tree. Slow: tests, and runs with --check.
#include <bit>

#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

bool CoherentTree::check_invariants(std::string* why) const {
  const auto fail = [&](NodeId id, uint64_t line, const std::string& what) {
    if (why != nullptr) *why = caches_[id].name() + ", line " + std::to_string(line) + ": " + what;
    return false;
  };
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Cache& cache = caches_[id];
    if (!cache.check_sets(why)) return false;
    for (Slot slot = 0; slot < cache.sets() * cache.padded_ways(); ++slot) {
      if (!cache.holds_line(slot)) continue;
      const std::string error = array_error(id, slot);
      if (!error.empty()) return fail(id, cache.line(slot), error);
    }
    std::string error;
    uint64_t line = kNoLine;
    directories_[id].for_each([&](Slot entry) {
      if (!error.empty()) return;
      line = directories_[id].line(entry);
      error = tracked_error(id, entry);
    });
    if (!error.empty()) return fail(id, line, error);
  }
  return true;
}

// Why the line in `slot` of cache `id` breaks an invariant; empty if it does not.
std::string CoherentTree::array_error(NodeId id, Slot slot) const {
  const Cache& cache = caches_[id];
  const uint64_t line = cache.line(slot);
  const Slot above = cache.parent_slot(slot);
  if (!nodes_[id].holds_directory())
    return directories_[id].find(line) == above && directories_[id].data(above) == slot ? ""
                                                                                        : "not in its own directory";
  if (nodes_[id].level == 0) {
    const bool marked = nodes_[id].prefetches && is_marked(id, slot);
    if (marked ? !cache.is_closed(slot) : cache.all_open() && cache.is_closed(slot))
      return "it is open though a prefetch brought it, or closed";
  }
  const bool exclusive = is_exclusive(cache.state(slot));
  if (nodes_[id].write_through && cache.state(slot) != State::kShared) return "a write-through cache has it to itself";
  const std::string error = line_error(id, line, above, exclusive);
  return error.empty() ? directory_error(cache, id, slot, exclusive) : error;
}

std::string CoherentTree::tracked_error(NodeId id, Slot entry) const {
  const LineDirectory& directory = directories_[id];
  const Slot data = directory.data(entry);
  if (data != kNoSlot && (caches_[id].line(data) != directory.line(entry) || caches_[id].parent_slot(data) != entry))
    return "its directory is wrong about its array";
  if (data == kNoSlot && !has_sharers(directory, entry)) return "an entry for nothing";
  if (data != kNoSlot && has_sharers(directory, entry) && nodes_[id].inclusion == Inclusion::kExclusive &&
      coherence_ != Coherence::kNone)
    return "in an exclusive cache and above it";
  const std::string error =
      line_error(id, directory.line(entry), directory.parent_slot(entry), directory.exclusive(entry));
  return error.empty() ? directory_error(directory, id, entry, directory.exclusive(entry)) : error;
}

// The domain of `id` holds the line; `above` should be its entry at the parent.
std::string CoherentTree::line_error(NodeId id, uint64_t line, Slot above, bool exclusive) const {
  const Node& n = nodes_[id];
  const auto check = [&](const auto& directory, const std::string& name) -> std::string {
    if (directory.line(above) != line || !(directory.sharers(above, n.child_number / 64) >> (n.child_number % 64) & 1))
      return "not in the directory of " + name;
    if (coherence_ == Coherence::kNone) return {};
    if (exclusive && !directory.exclusive(above)) return "exclusive, but " + name + " is not";
    if (exclusive && !directory.owned_by_child(above)) return "exclusive, but " + name + " does not know";
    return {};
  };
  if (n.parent != kMemory) {
    if (entry_of(n.parent, line) != above) return "not included in " + caches_[n.parent].name();
    return nodes_[n.parent].holds_directory() ? check(caches_[n.parent], caches_[n.parent].name())
                                              : check(directories_[n.parent], caches_[n.parent].name());
  }
  if (!directory_at_memory()) return exclusive || n.write_through ? "" : "shared in the only cache of the last level";
  if (memory_directory_.find(line) != above) return "not in the directory at memory";
  const std::string error = directory_error(memory_directory_, kMemory, above, true);
  return error.empty() ? check(memory_directory_, "memory") : "directory at memory: " + error;
}

template <typename Directory>
std::string CoherentTree::directory_error(const Directory& directory, NodeId parent, Slot slot,
                                          bool parent_exclusive) const {
  uint32_t sharers = 0, owners = 0, dirty_shared = 0;
  const std::vector<NodeId>& children = children_of(parent);
  for (uint32_t child = 0; child < children.size(); ++child) {
    if (!(directory.sharers(slot, child / 64) >> (child % 64) & 1)) continue;
    const NodeId id = children[child];
    const Slot there = entry_of(id, directory.line(slot));
    if (there == kNoSlot) return "the directory names " + caches_[id].name() + ", which does not hold it";
    ++sharers;
    const bool exclusive =
        nodes_[id].holds_directory() ? caches_[id].exclusive(there) : directories_[id].exclusive(there);
    owners += exclusive;
    dirty_shared += !exclusive && is_domain_dirty(id, there);
  }
  if (coherence_ == Coherence::kNone) return {};
  if (owners > 1 || (owners == 1 && sharers > 1)) return "a writer is not alone";
  if ((owners == 1) != directory.owned_by_child(slot)) return "the directory is wrong about an exclusive child";
  if (owners == 1 && !parent_exclusive) return "a child is exclusive under a shared line";
  if (dirty_shared > 1) return "two owners";
  if ((dirty_shared == 1) != directory.dirty_child(slot)) return "the directory is wrong about an owner";
  if (dirty_shared == 1 && coherence_ != Coherence::kMoesi) return "owned, without that state in the protocol";
  return {};
}

}  // namespace simrun::sim
