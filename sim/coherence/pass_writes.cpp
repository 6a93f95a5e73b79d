// Writes that a cache passes on toward memory: write-through, and write misses that allocate nothing. The cache that
// takes one includes its children or is memory (sim/build/validate_machine.cpp sees to it). A write-through cache holds
// lines Shared only: it never has permission to keep a write to itself, so each write invalidates the other copies when
// it arrives at the first cache that keeps it.
#include "sim/coherence/coherent_tree.h"
#include "sim/coherence/lose_lines.h"

namespace simrun::sim {

Slot CoherentTree::pass_write(NodeId child, const Request& request, bool keeps) {
  ++caches_[child].events.writes_passed_on;
  const auto [node, child_number] = std::pair(nodes_[child].parent, nodes_[child].child_number);
  if (node == kMemory) return pass_write_to_memory(child_number, request, keeps);
  Cache& cache = caches_[node];
  const Node& n = nodes_[node];
  RequestCounters& counts = cache.requests[request.core - cache.first_core];
  ++counts.accesses[index(request.kind)];
  show_request(node, request);
  Slot slot = cache.find(request.line);
  if (n.prefetches) observe(node, request, slot);
  if (details_ != nullptr) details_->request(node, slot != kNoSlot);
  if (slot != kNoSlot) {
    service_ = {n.level, kMemory};
    cache.touch(slot);
    return take_passed_write(node, slot, request, child_number, keeps);
  }
  ++counts.misses[index(request.kind)];
  if (n.write_through || (!n.write_allocate && !keeps)) {
    const bool fills = n.write_through && (n.write_allocate || keeps);
    const Slot above = pass_write(node, request, fills);
    if (!fills) return kNoSlot;
    slot = place(node, request.line, State::kShared, above);
  } else {
    slot = allocate(node, request);
    cache.set_dirty(slot, true);
  }
  if (keeps) cache.add_sharer(slot, child_number);
  return slot;
}

// The line is in `slot` of `node`.
Slot CoherentTree::take_passed_write(NodeId node, Slot slot, const Request& request, uint32_t child_number,
                                     bool keeps) {
  Cache& cache = caches_[node];
  const bool coherent = coherence_ != Coherence::kNone;
  if (!nodes_[node].write_through && !cache.exclusive(slot)) {
    ++cache.events.upgrades;
    obtain_exclusive(node, slot);
  }
  if (coherent) {
    if (remove_from_children(cache, node, slot, child_number, Loss::kCoherence, data_of_losers(node, slot)) &&
        details_ != nullptr)
      details_->supplied_modified();
    cache.set_dirty_child(slot, false);
  }
  if (keeps) cache.add_sharer(slot, child_number);
  if (nodes_[node].write_through)
    pass_write(node, request, true);
  else
    cache.set_dirty(slot, true);
  return slot;
}

Slot CoherentTree::pass_write_to_memory(uint32_t child_number, const Request& request, bool keeps) {
  service_ = {static_cast<uint32_t>(levels_), kMemory};
  write_memory(request.line);
  if (!directory_at_memory()) return kNoSlot;
  memory_.snoops_sent += snoops_at_memory_;
  LineDirectory& directory = memory_directory_;
  const Slot slot = keeps ? directory.open(request.line) : directory.find(request.line);
  if (slot == kNoSlot) return kNoSlot;
  directory.set_exclusive(slot, true);
  if (coherence_ != Coherence::kNone) {
    remove_from_children(directory, kMemory, slot, child_number, Loss::kCoherence, Data::kMerge);
    directory.set_dirty_child(slot, false);
    directory.set_forwarder(slot, LineDirectory::kNoChild);
  }
  if (keeps) directory.add_sharer(slot, child_number);
  if (has_sharers(directory, slot)) return slot;
  directory.close(slot);
  return kNoSlot;
}

}  // namespace simrun::sim
