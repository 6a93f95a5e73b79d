// The protocol: what happens on a level-1 miss, an upgrade, an eviction, a flush. tests/sim/reference_model.cpp says
// the same slowly and without directories.
#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

namespace {

// Calls visit(child number) for each sharer but `skip`. The visitor may clear the bit of the child it is given.
template <typename Directory, typename Visit>
void for_each_sharer(const Directory& directory, Slot slot, uint32_t skip, Visit visit) {
  for (uint32_t word = 0; word < directory.sharer_words(); ++word)
    for (uint64_t bits = directory.sharers(slot)[word]; bits != 0; bits &= bits - 1) {
      const uint32_t child = word * 64 + std::countr_zero(bits);
      if (child != skip) visit(child);
    }
}

template <typename Directory>
bool has_sharers(const Directory& directory, Slot slot) {
  for (uint32_t word = 0; word < directory.sharer_words(); ++word)
    if (directory.sharers(slot)[word] != 0) return true;
  return false;
}

template <typename Directory>
void set_sharer(Directory& directory, Slot slot, uint32_t child) {
  directory.sharers(slot)[child / 64] |= uint64_t{1} << (child % 64);
}

template <typename Directory>
void clear_sharer(Directory& directory, Slot slot, uint32_t child) {
  directory.sharers(slot)[child / 64] &= ~(uint64_t{1} << (child % 64));
}

}  // namespace

Slot CoherentTree::miss(NodeId node, uint32_t core, Access kind, uint64_t line) {
  const Slot slot = allocate(node, {core, kind, line});
  if (is_write(kind)) caches_[node].set_state(slot, Mesi::kModified);
  return slot;
}

void CoherentTree::write_hit(NodeId node, Slot slot) {
  Cache& cache = caches_[node];
  if (cache.state(slot) == Mesi::kShared) {
    ++cache.events.upgrades;
    if (details_ != nullptr) details_->upgraded(node);
    obtain_exclusive(node, slot);
  }
  cache.set_state(slot, Mesi::kModified);
}

void CoherentTree::flush(uint64_t line) {
  if (directory_at_memory()) {
    const Slot slot = memory_directory_.find(line);
    if (slot == kNoSlot) return;
    remove_from_children(memory_directory_, kMemory, slot, kNobody, Loss::kFlush);
    memory_directory_.close(slot);
  } else if (caches_[roots_[0]].find(line) != kNoSlot) {
    if (remove_subtree(roots_[0], line, Loss::kFlush)) take_write_back(kMemory, kNoSlot);
  }
}

Slot CoherentTree::allocate(NodeId node, const Request& request) {
  // The parent first: what it evicts may leave here too, and then nothing needs to be evicted here.
  const Grant grant = serve(nodes_[node].parent, nodes_[node].child_number, request);
  Cache& cache = caches_[node];
  const Slot slot = cache.victim(request.line);
  if (cache.line(slot) != kNoLine) evict(node, slot);
  cache.fill(slot, request.line, grant.exclusive ? Mesi::kExclusive : Mesi::kShared, grant.slot);
  if (details_ != nullptr) details_->filled(node, request.line);
  return slot;
}

CoherentTree::Grant CoherentTree::serve(NodeId parent, uint32_t child_number, const Request& request) {
  if (parent == kMemory) return serve_from_memory(child_number, request);
  Cache& cache = caches_[parent];
  RequestCounters& counts = cache.requests[request.core - cache.first_core];
  ++counts.accesses[index(request.kind)];
  Slot slot = cache.find(request.line);
  if (details_ != nullptr) details_->request(parent, slot != kNoSlot);
  if (slot == kNoSlot) {
    ++counts.misses[index(request.kind)];
    slot = allocate(parent, request);
  } else {
    cache.touch(slot);
    if (is_write(request.kind) && cache.state(slot) == Mesi::kShared) {
      ++cache.events.upgrades;
      obtain_exclusive(parent, slot);
    }
  }
  const NodeId child = nodes_[parent].children[child_number];
  const bool may_be_exclusive = is_exclusive(cache.state(slot)) && nodes_[child].side != Side::kInstruction;
  return {add_sharer(cache, parent, slot, child_number, is_write(request.kind), may_be_exclusive).exclusive, slot};
}

CoherentTree::Grant CoherentTree::serve_from_memory(uint32_t child_number, const Request& request) {
  if (!directory_at_memory()) {
    ++memory_.reads;
    return {true, kNoSlot};
  }
  const Slot slot = memory_directory_.open(request.line);
  const bool may_be_exclusive = nodes_[roots_[child_number]].side != Side::kInstruction;
  const Sharing sharing =
      add_sharer(memory_directory_, kMemory, slot, child_number, is_write(request.kind), may_be_exclusive);
  memory_.reads += !sharing.supplied;
  return {sharing.exclusive, slot};
}

void CoherentTree::obtain_exclusive(NodeId node, Slot slot) {
  const Node& n = nodes_[node];
  const Slot above = caches_[node].parent_slot(slot);
  if (n.parent == kMemory) {
    CHECK(directory_at_memory());  // else a last level holds nothing Shared
    remove_from_children(memory_directory_, kMemory, above, n.child_number, Loss::kCoherence);
    memory_directory_.set_owned_by_child(above, true);
  } else {
    Cache& parent = caches_[n.parent];
    if (parent.state(above) == Mesi::kShared) {
      ++parent.events.upgrades;
      obtain_exclusive(n.parent, above);
    }
    remove_from_children(parent, n.parent, above, n.child_number, Loss::kCoherence);
    parent.set_owned_by_child(above, true);
  }
  caches_[node].set_state(slot, Mesi::kExclusive);
}

template <typename Directory>
CoherentTree::Sharing CoherentTree::add_sharer(Directory& directory, NodeId parent, Slot slot, uint32_t child,
                                               bool write, bool may_be_exclusive) {
  Sharing sharing{write, false};
  if (write) {
    sharing.supplied = remove_from_children(directory, parent, slot, kNobody, Loss::kCoherence);
  } else {
    if (directory.owned_by_child(slot)) sharing.supplied = downgrade_owner(directory, parent, slot);
    sharing.exclusive = may_be_exclusive && !has_sharers(directory, slot);
  }
  if (sharing.supplied && details_ != nullptr) details_->supplied_modified();
  set_sharer(directory, slot, child);
  directory.set_owned_by_child(slot, sharing.exclusive);
  return sharing;
}

template <typename Directory>
bool CoherentTree::remove_from_children(Directory& directory, NodeId parent, Slot slot, uint32_t keep_child,
                                        Loss reason) {
  const uint64_t line = directory.line(slot);
  bool any_modified = false;
  for_each_sharer(directory, slot, keep_child, [&](uint32_t child) {
    if (reason == Loss::kCoherence) count_invalidation_sent(parent);
    if (remove_subtree(children_of(parent)[child], line, reason)) {
      take_write_back(parent, slot);
      any_modified = true;
    }
    clear_sharer(directory, slot, child);
  });
  directory.set_owned_by_child(slot, false);
  return any_modified;
}

template <typename Directory>
bool CoherentTree::downgrade_owner(Directory& directory, NodeId parent, Slot slot) {
  bool modified = false;
  for_each_sharer(directory, slot, kNobody, [&](uint32_t child) {
    modified |= downgrade_subtree(children_of(parent)[child], directory.line(slot));
  });
  if (modified) take_write_back(parent, slot);
  directory.set_owned_by_child(slot, false);
  return modified;
}

bool CoherentTree::remove_subtree(NodeId node, uint64_t line, Loss reason) {
  Cache& cache = caches_[node];
  const Slot slot = cache.find(line);
  CHECK(slot != kNoSlot);
  remove_from_children(cache, node, slot, kNobody, reason);
  const bool modified = cache.state(slot) == Mesi::kModified;
  EventCounters& events = cache.events;
  switch (reason) {
    case Loss::kCoherence:
      ++events.invalidations_received;
      events.interventions += is_exclusive(cache.state(slot));
      events.dirty_interventions += modified;
      break;
    case Loss::kBackInvalidation:
      ++events.back_invalidations;
      break;
    case Loss::kFlush:
      ++events.flushed_lines;
      break;
    case Loss::kEvicted:
    case Loss::kMoved:
      break;
  }
  events.write_backs_out += modified;
  if (details_ != nullptr) details_->removed(node, line, reason);
  cache.remove(slot);
  return modified;
}

bool CoherentTree::downgrade_subtree(NodeId node, uint64_t line) {
  Cache& cache = caches_[node];
  const Slot slot = cache.find(line);
  CHECK(slot != kNoSlot);
  if (cache.owned_by_child(slot)) downgrade_owner(cache, node, slot);
  const bool modified = cache.state(slot) == Mesi::kModified;
  ++cache.events.downgrades;
  ++cache.events.interventions;
  cache.events.dirty_interventions += modified;
  cache.events.write_backs_out += modified;
  cache.set_state(slot, Mesi::kShared);
  return modified;
}

void CoherentTree::evict(NodeId node, Slot slot) {
  Cache& cache = caches_[node];
  const Node& n = nodes_[node];
  const Slot above = cache.parent_slot(slot);
  ++cache.events.evictions;
  remove_from_children(cache, node, slot, kNobody, Loss::kBackInvalidation);
  if (cache.state(slot) == Mesi::kModified) {
    ++cache.events.write_backs_out;
    take_write_back(n.parent, above);
  }
  forget_child(n.parent, above, n.child_number);
  if (details_ != nullptr) details_->removed(node, cache.line(slot), Loss::kEvicted);
  cache.remove(slot);
}

void CoherentTree::forget_child(NodeId parent, Slot slot, uint32_t child) {
  if (parent != kMemory) {
    clear_sharer(caches_[parent], slot, child);
    caches_[parent].set_owned_by_child(slot, false);
  } else if (directory_at_memory()) {
    clear_sharer(memory_directory_, slot, child);
    memory_directory_.set_owned_by_child(slot, false);
    if (!has_sharers(memory_directory_, slot)) memory_directory_.close(slot);
  }
}

void CoherentTree::take_write_back(NodeId parent, Slot slot) {
  if (parent == kMemory) {
    ++memory_.writes;
    return;
  }
  ++caches_[parent].events.write_backs_in;
  caches_[parent].set_state(slot, Mesi::kModified);
}

}  // namespace simrun::sim
