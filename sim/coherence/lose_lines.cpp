// Lines that leave a cache or lose permission there: invalidations, downgrades, evictions, and what becomes of modified
// data.
#include "sim/coherence/lose_lines.h"

namespace simrun::sim {

void CoherentTree::count_loss(NodeId node, Loss reason, bool exclusive, bool dirty) {
  EventCounters& events = caches_[node].events;
  switch (reason) {
    case Loss::kCoherence:
    case Loss::kUpgrade:
      ++events.invalidations_received;
      events.interventions += exclusive || dirty;
      events.dirty_interventions += dirty && reason == Loss::kCoherence;
      return;
    case Loss::kBackInvalidation:
      ++events.back_invalidations;
      return;
    case Loss::kFlush:
      ++events.flushed_lines;
      return;
    case Loss::kEvicted:
    case Loss::kMoved:
      return;
  }
}

// The line in `slot` leaves the array of `node`.
void CoherentTree::forget_array_line(NodeId node, Slot slot, Loss reason) {
  Cache& cache = caches_[node];
  if (nodes_[node].prefetches) prefetch_units_[node]->forget_mark(slot);
  if (details_ != nullptr) details_->removed(node, cache.line(slot), reason);
  if (cache.counts_visitors()) cache.count_visitors(slot);
  cache.remove(slot);
}

bool CoherentTree::remove_domain(NodeId node, uint64_t line, Loss reason) {
  Cache& cache = caches_[node];
  const Slot entry = entry_of(node, line);
  CHECK(entry != kNoSlot);
  if (nodes_[node].holds_directory()) {
    remove_from_children(cache, node, entry, kNobody, reason, Data::kMerge);
    const State state = cache.state(entry);
    count_loss(node, reason, is_exclusive(state), is_dirty(state));
    forget_array_line(node, entry, reason);
    return is_dirty(state);
  }
  LineDirectory& directory = directories_[node];
  bool dirty = remove_from_children(directory, node, entry, kNobody, reason, Data::kPassThrough);
  const Slot data = directory.data(entry);
  if (data != kNoSlot) {
    dirty |= is_dirty(cache.state(data));
    forget_array_line(node, data, reason);
  }
  count_loss(node, reason, directory.exclusive(entry), dirty);
  directory.close(entry);
  return dirty;
}

bool CoherentTree::downgrade_domain(NodeId node, uint64_t line) {
  Cache& cache = caches_[node];
  const Slot entry = entry_of(node, line);
  CHECK(entry != kNoSlot);
  const bool keeps_data = coherence_ == Coherence::kMoesi;
  bool dirty = false;
  if (nodes_[node].holds_directory()) {
    if (cache.owned_by_child(entry)) downgrade_owner(cache, node, entry, Data::kMerge);
    dirty = is_dirty(cache.state(entry)) || cache.dirty_child(entry);
    cache.set_state(entry, make_state(false, dirty && keeps_data));
  } else {
    LineDirectory& directory = directories_[node];
    if (directory.owned_by_child(entry)) dirty = downgrade_owner(directory, node, entry, Data::kPassThrough);
    dirty |= is_domain_dirty(node, entry);
    directory.set_exclusive(entry, false);
    if (directory.data(entry) != kNoSlot && !keeps_data) cache.set_dirty(directory.data(entry), false);
  }
  ++cache.events.downgrades;
  ++cache.events.interventions;
  cache.events.dirty_interventions += dirty;
  return dirty;
}

void CoherentTree::evict(NodeId node, Slot slot) {
  Cache& cache = caches_[node];
  ++cache.events.evictions;
  if (!nodes_[node].holds_directory()) [[unlikely]]
    return evict_tracked(node, slot);
  if (nodes_[node].level != 0) remove_from_children(cache, node, slot, kNobody, Loss::kBackInvalidation, Data::kMerge);
  const bool dirty = is_dirty(cache.state(slot));
  const Slot above = cache.parent_slot(slot);
  const uint64_t line = cache.line(slot);
  forget_array_line(node, slot, Loss::kEvicted);
  leave_domain(node, above, line, dirty);
}

void CoherentTree::evict_tracked(NodeId node, Slot slot) {
  const Cache& cache = caches_[node];
  const uint64_t line = cache.line(slot);
  const Slot entry = cache.parent_slot(slot);
  const bool dirty = is_dirty(cache.state(slot));
  forget_array_line(node, slot, Loss::kEvicted);
  leave_array(node, entry, line, dirty);
}

void CoherentTree::leave_array(NodeId node, Slot entry, uint64_t line, bool dirty) {
  LineDirectory& directory = directories_[node];
  directory.prefetch(line);
  if (nodes_[node].parent == kMemory && directory_at_memory()) memory_directory_.prefetch(line);
  directory.set_data(entry, kNoSlot);
  if (!has_sharers(directory, entry)) {
    const Slot above = directory.parent_slot(entry);
    directory.close(entry);
    return nodes_[node].parent == kMemory ? leave_to_memory(node, above, line, dirty) : leave_domain(node, above, line, dirty);
  }
  if (dirty) write_back_and_keep(node, entry);
}

void CoherentTree::leave_domain(NodeId node, Slot above, uint64_t line, bool dirty) {
  const Node& n = nodes_[node];
  if (n.parent == kMemory) return leave_to_memory(node, above, line, dirty);
  if (!nodes_[n.parent].holds_directory()) [[unlikely]]
    return leave_to_tracked(node, above, line, dirty);
  Cache& parent = caches_[n.parent];
  if (dirty) {
    write_back(node, above, line);
    parent.set_dirty_child(above, false);
  }
  parent.remove_sharer(above, n.child_number);
  parent.set_owned_by_child(above, false);
}

void CoherentTree::leave_to_memory(NodeId node, Slot above, uint64_t line, bool dirty) {
  if (dirty) write_back(node, above, line);
  if (!directory_at_memory()) return;
  LineDirectory& directory = memory_directory_;
  const uint32_t child = nodes_[node].child_number;
  if (dirty) directory.set_dirty_child(above, false);
  directory.remove_sharer(above, child);
  directory.set_owned_by_child(above, false);
  if (directory.forwarder(above) == child) directory.set_forwarder(above, LineDirectory::kNoChild);
  if (!has_sharers(directory, above)) directory.close(above);
}

// The parent does not include its children: it takes modified lines; an exclusive one takes the last copy, clean or
// not.
void CoherentTree::leave_to_tracked(NodeId node, Slot above, uint64_t line, bool dirty) {
  const NodeId parent = nodes_[node].parent;
  Cache& cache = caches_[parent];
  LineDirectory& directory = directories_[parent];
  directory.remove_sharer(above, nodes_[node].child_number);
  directory.set_owned_by_child(above, false);
  if (dirty) directory.set_dirty_child(above, false);
  const bool last = !has_sharers(directory, above);
  if (nodes_[parent].inclusion == Inclusion::kExclusive && last) {
    ++cache.events.victims_in;
    caches_[node].events.write_backs_out += dirty;
    cache.events.write_backs_in += dirty;
    if (directory.data(above) == kNoSlot)
      place_data(parent, above, dirty);
    else if (dirty)  // only without coherence
      cache.set_dirty(directory.data(above), true);
  } else if (dirty) {
    write_back(node, above, line);
  }
  if (has_sharers(directory, above) || directory.data(above) != kNoSlot) return;
  const Slot further = directory.parent_slot(above);
  directory.close(above);
  leave_domain(parent, further, line, false);
}

void CoherentTree::put_dirty(NodeId node, Slot slot, uint64_t line) {
  if (node == kMemory) return write_memory(line);
  Cache& cache = caches_[node];
  ++cache.events.write_backs_in;
  if (nodes_[node].holds_directory()) return cache.set_dirty(slot, true);
  LineDirectory& directory = directories_[node];
  if (directory.data(slot) != kNoSlot) return cache.set_dirty(directory.data(slot), true);
  if (nodes_[node].inclusion == Inclusion::kNonInclusive) return place_data(node, slot, true);
  write_back_and_keep(node, slot);
}

}  // namespace simrun::sim
