// Requests: what happens on a level-1 miss, an upgrade, a flush. tests/sim/reference_model.cpp says the same slowly and
// without directories.
#include "sim/coherence/coherent_tree.h"

#include "sim/coherence/lose_lines.h"

namespace simrun::sim {

Slot CoherentTree::miss(NodeId node, uint32_t core, Access kind, uint64_t line) {
  const Request request{core, kind, line};
  const Node& n = nodes_[node];
  if (is_write(kind) && (n.write_through || !n.write_allocate)) [[unlikely]] {
    const bool fills = n.write_allocate;
    const Slot above = pass_write(node, request, fills);
    return fills ? place(node, line, State::kShared, above) : kNoSlot;
  }
  if (const LruWay* way = near_ways_[node]; way != nullptr && nobody_watches()) return (this->*way->miss_near)(*way, request);
  if (const Slot slot = take_from_parent(node, request); slot != kNoSlot) return slot;
  const Slot slot = allocate(node, request);
  if (is_write(kind)) caches_[node].set_state(slot, State::kModified);
  return slot;
}

Slot CoherentTree::take_from_parent(NodeId node, const Request& request) {
  const Node& n = nodes_[node];
  if (n.parent == kMemory || coherence_ == Coherence::kNone || !nobody_watches()) return kNoSlot;
  const Node& p = nodes_[n.parent];
  if (!p.holds_directory()) return take_from_tracked(node, request);
  if (p.children.size() > 64) return kNoSlot;
  Cache &cache = caches_[node], &parent = caches_[n.parent];
  const Slot above = parent.find(request.line);
  if (above == kNoSlot) return kNoSlot;
  if (p.prefetches && (is_marked(n.parent, above) || prefetch_units_[n.parent]->predictor.sees_hits())) return kNoSlot;
  const bool write = is_write(request.kind);
  ++parent.requests[request.core - parent.first_core].accesses[index(request.kind)];
  service_ = {p.level, kMemory};
  parent.touch(above);
  if (write && !parent.exclusive(above)) {
    ++parent.events.upgrades;
    obtain_exclusive(n.parent, above);
  }
  bool exclusive = write || (n.gives_exclusive && parent.exclusive(above));
  if (!parent.add_first_sharer(above, n.child_number, exclusive)) [[unlikely]]
    exclusive = add_sharer(parent, n.parent, above, n.child_number, write).exclusive;
  const State state = make_state(exclusive, write);
  if (!cache.hits_by_time()) return place(node, request.line, state, above);
  // As place(), which does not know that the parent includes this cache (115 instructions of 1,130).
  const Slot slot = cache.replace_least_recent(request.line, state, above, [&](Slot, bool dirty, Slot left) {
    ++cache.events.evictions;
    cache.events.write_backs_out += dirty;
    parent.events.write_backs_in += dirty;
    parent.leave_child(left, n.child_number, dirty);
  });
  if (n.prefetches) prefetch_units_[node]->forget_mark(slot);  // of what was there
  return slot;
}

// The same of a parent that does not include this cache, if its array has the line and no other child does.
Slot CoherentTree::take_from_tracked(NodeId node, const Request& request) {
  const Node& n = nodes_[node];
  const Node& p = nodes_[n.parent];
  if (p.inclusion != Inclusion::kNonInclusive) return kNoSlot;
  Cache& parent = caches_[n.parent];
  LineDirectory& directory = directories_[n.parent];
  // By the array: its set names the entry, which the directory would find by one look more in tables that the host used long ago.
  const Slot data = parent.find(request.line);
  if (data == kNoSlot) return kNoSlot;
  const Slot entry = parent.parent_slot(data);
  if (has_sharers(directory, entry) || directory.dirty_child(entry)) return kNoSlot;
  const bool write = is_write(request.kind), alone = directory.exclusive(entry);
  if (write && !alone) return kNoSlot;
  if (p.prefetches && (is_marked(n.parent, data) || prefetch_units_[n.parent]->predictor.sees_hits())) return kNoSlot;
  ++parent.requests[request.core - p.first_core].accesses[index(request.kind)];
  service_ = {p.level, kMemory};
  parent.touch(data);
  const bool exclusive = write || (alone && n.gives_exclusive);
  directory.add_sharer(entry, n.child_number);
  directory.set_owned_by_child(entry, exclusive);
  return place(node, request.line, make_state(exclusive, write), entry);
}

bool CoherentTree::write_hit(NodeId node, Slot slot, uint32_t core, Access kind) {
  Cache& cache = caches_[node];
  if (nodes_[node].write_through) {
    pass_write(node, {core, kind, cache.line(slot)}, true);
    return false;
  }
  const bool upgrade = !is_exclusive(cache.state(slot));
  if (upgrade) {
    ++cache.events.upgrades;
    if (details_ != nullptr) details_->upgraded(node);
    obtain_exclusive(node, slot);
  }
  cache.set_state(slot, State::kModified);
  return upgrade;
}

void CoherentTree::flush(uint64_t line) {
  if (directory_at_memory()) {
    const Slot slot = memory_directory_.find(line);
    if (slot == kNoSlot) return;
    remove_from_children(memory_directory_, kMemory, slot, kNobody, Loss::kFlush, Data::kMerge);
    memory_directory_.close(slot);
  } else if (entry_of(roots_[0], line) != kNoSlot) {
    if (remove_domain(roots_[0], line, Loss::kFlush)) write_back(roots_[0], kNoSlot, line);
  }
}

Slot CoherentTree::entry_of(NodeId node, uint64_t line) const {
  return nodes_[node].holds_directory() ? caches_[node].find(line) : directories_[node].find(line);
}

bool CoherentTree::is_domain_dirty(NodeId node, Slot entry) const {
  if (nodes_[node].holds_directory()) return is_dirty(caches_[node].state(entry));
  const LineDirectory& directory = directories_[node];
  const Slot data = directory.data(entry);
  return directory.dirty_child(entry) || (data != kNoSlot && is_dirty(caches_[node].state(data)));
}

Slot CoherentTree::allocate(NodeId node, const Request& request) {
  if (nodes_[node].plain && nobody_watches()) [[likely]]
    return miss_plain(way(request.core, nodes_[node].side), nodes_[node].level, request.core, request.kind,
                      request.line);
  if (const NodeId parent = nodes_[node].parent; parent != kMemory && !nodes_[parent].holds_directory())
    prefetch_for_miss(node, request.line);
  // The parent first: what it evicts may leave here too, and then nothing needs to be evicted here.
  const Grant grant = serve(nodes_[node].parent, nodes_[node].child_number, request);
  return place(node, request.line, make_state(grant.exclusive, grant.dirty), grant.slot);
}

// A miss goes through tables that the host used long ago, one behind the other: what is known of it now is asked for at once.
void CoherentTree::prefetch_for_miss(NodeId node, uint64_t line) {
  const NodeId parent = nodes_[node].parent;
  directories_[parent].prefetch(line);
  const NodeId next = nodes_[parent].parent;
  if (next == kMemory && directory_at_memory()) memory_directory_.prefetch(line);
  if (next != kMemory && !nodes_[next].holds_directory()) {
    directories_[next].prefetch(line);
    caches_[next].prefetch_set(line);
  }
  const Cache& cache = caches_[node];
  if (!cache.orders_by_age()) return;
  const Slot leaves = cache.oldest(line);
  if (!cache.holds_line(leaves)) return;
  directories_[parent].prefetch_entry(cache.parent_slot(leaves));
  caches_[parent].prefetch_set(cache.line(leaves));
}

Slot CoherentTree::place(NodeId node, uint64_t line, State state, Slot parent_slot) {
  Cache& cache = caches_[node];
  if ((nodes_[node].level != 0 || !cache.orders_by_policy()) && nodes_[node].children.size() <= 64 && nobody_watches())
    return place_at_once(node, line, state, parent_slot);
  const Slot slot = cache.victim(line);
  if (cache.holds_line(slot)) evict(node, slot);
  cache.fill(slot, line, state, parent_slot);
  if (details_ != nullptr) details_->filled(node, line);
  return slot;
}

// The same at once. What leaves is in its slot until it is replaced: nothing comes back here when it leaves.
Slot CoherentTree::place_at_once(NodeId node, uint64_t line, State state, Slot parent_slot) {
  DCHECK(nodes_[node].holds_directory());  // else place_data() has gone to place_tracked()
  Cache& cache = caches_[node];
  const auto leave = [&](Slot slot, bool dirty, Slot above) {
    ++cache.events.evictions;
    if (nodes_[node].prefetches) prefetch_units_[node]->forget_mark(slot);
    leave_domain(node, above, cache.line(slot), dirty);
  };
  if (nodes_[node].level == 0) return cache.replace_least_recent(line, state, parent_slot, leave);
  return cache.replace_victim(
      line, state, parent_slot,
      [&](Slot slot) { remove_from_children(cache, node, slot, kNobody, Loss::kBackInvalidation, Data::kMerge); }, leave);
}

// The same of a cache behind level 1 that does not include its children.
Slot CoherentTree::place_tracked(NodeId node, uint64_t line, State state, Slot entry) {
  Cache& cache = caches_[node];
  return cache.replace_victim(line, state, entry, [](Slot) {}, [&](Slot slot, bool dirty, Slot left) {
    ++cache.events.evictions;
    if (nodes_[node].prefetches) prefetch_units_[node]->forget_mark(slot);
    leave_array(node, left, directories_[node].line(left), dirty);
  });
}

void CoherentTree::place_data(NodeId node, Slot entry, bool dirty) {
  LineDirectory& directory = directories_[node];
  const uint64_t line = directory.line(entry);
  const State state = make_state(false, dirty);
  const bool at_once = nodes_[node].children.size() <= 64 && nobody_watches();
  const Slot data = at_once ? place_tracked(node, line, state, entry) : place(node, line, state, entry);
  directory.set_data(entry, data);
}

CoherentTree::Grant CoherentTree::serve(NodeId parent, uint32_t child_number, const Request& request) {
  if (parent == kMemory) return serve_from_memory(child_number, request);
  Cache& cache = caches_[parent];
  RequestCounters& counts = cache.requests[request.core - cache.first_core];
  ++counts.accesses[index(request.kind)];
  show_request(parent, request);
  if (!nodes_[parent].holds_directory()) [[unlikely]]
    return serve_tracked(parent, child_number, request);
  Slot slot = cache.find(request.line);
  if (nodes_[parent].prefetches) [[unlikely]]
    observe(parent, request, slot);
  if (Details* details = details_of_request()) details->request(parent, slot != kNoSlot);
  if (slot == kNoSlot) {
    ++counts.misses[index(request.kind)];
    slot = allocate(parent, request);
  } else {
    service_ = {nodes_[parent].level, kMemory};
    cache.touch(slot);
    if (is_write(request.kind) && !cache.exclusive(slot)) {
      ++cache.events.upgrades;
      obtain_exclusive(parent, slot);
    }
  }
  return {add_sharer(cache, parent, slot, child_number, is_write(request.kind)).exclusive, false, slot};
}

CoherentTree::Grant CoherentTree::serve_from_memory(uint32_t child_number, const Request& request) {
  service_ = {static_cast<uint32_t>(levels_), kMemory};
  if (!directory_at_memory()) {
    read_memory(request);
    return {!nodes_[roots_[0]].write_through, false, kNoSlot};
  }
  memory_.snoops_sent += snoops_at_memory_;
  LineDirectory& directory = memory_directory_;
  const Slot slot = directory.open(request.line);
  directory.set_exclusive(slot, true);
  const uint32_t forwarder = directory.forwarder(slot);
  bool forwarded = false;
  if (coherence_ == Coherence::kMesif) {
    if (directory.owned_by_child(slot)) {   // modified or not; an intervention
      for_each_sharer(directory, slot, kNobody, [&](uint32_t child) { service_.supplier = roots_[child]; });
      forwarded = true;
    } else if (forwarder != LineDirectory::kNoChild) {
      ++caches_[roots_[forwarder]].events.clean_supplies;
      service_.supplier = roots_[forwarder];
      forwarded = true;
    }
    directory.set_forwarder(slot, is_write(request.kind) ? LineDirectory::kNoChild : child_number);
  }
  const Sharing sharing = add_sharer(directory, kMemory, slot, child_number, is_write(request.kind));
  if (!sharing.supplied && !forwarded) read_memory(request);
  return {sharing.exclusive, false, slot};
}

// A request at a cache that does not include its children.
CoherentTree::Grant CoherentTree::serve_tracked(NodeId parent, uint32_t child_number, const Request& request) {
  Cache& cache = caches_[parent];
  LineDirectory& directory = directories_[parent];
  const bool write = is_write(request.kind);
  Slot entry = directory.find(request.line);
  const Slot data = entry != kNoSlot ? directory.data(entry) : kNoSlot;
  if (nodes_[parent].prefetches) observe(parent, request, data);
  if (Details* details = details_of_request()) details->request(parent, data != kNoSlot);
  Grant grant{false, false, kNoSlot};
  if (data != kNoSlot) {
    service_ = {nodes_[parent].level, kMemory};
    if (nodes_[parent].inclusion == Inclusion::kExclusive)
      grant = take_from_exclusive(parent, entry);
    else
      cache.touch(data);
  } else {
    ++cache.requests[request.core - cache.first_core].misses[index(request.kind)];
    if (entry != kNoSlot && coherence_ != Coherence::kNone) {  // then a child holds it
      service_ = {nodes_[parent].level, kMemory};
      ++cache.events.supplied_by_children;
      if (Details* details = details_of_request()) details->supplied_by_children();
      for_each_sharer(directory, entry, kNobody, [&](uint32_t child) {
        if (service_.supplier == kMemory) service_.supplier = nodes_[parent].children[child];
      });
      if (!directory.owned_by_child(entry) && !directory.dirty_child(entry))
        ++caches_[service_.supplier].events.clean_supplies;
    } else {
      if (fetch_fresh(parent, child_number, request, grant)) return grant;
      grant = fetch_tracked(parent, request, entry);
    }
  }
  if (grant.dirty && nodes_[nodes_[parent].children[child_number]].side == Side::kInstruction) {
    write_back_and_keep(parent, entry);  // instruction caches take no modified data
    grant.dirty = false;
  }
  if (write && !directory.exclusive(entry)) {
    ++cache.events.upgrades;
    obtain_exclusive(parent, entry);
  }
  const Sharing sharing = add_sharer(directory, parent, entry, child_number, write);
  // Whoever takes modified data that no one else has may write it.
  const bool exclusive =
      sharing.exclusive || (grant.dirty && directory.exclusive(entry) && coherence_ == Coherence::kMsi);
  if (grant.dirty) {
    directory.set_owned_by_child(entry, exclusive && coherence_ != Coherence::kNone);
    directory.set_dirty_child(entry, !exclusive);
  }
  return {exclusive, grant.dirty, entry};
}

// The same of a line that is nowhere, at once: with its only sharer. False: memory knows of others, perhaps; nothing has changed.
[[gnu::always_inline]] inline bool CoherentTree::fetch_fresh(NodeId node, uint32_t child_number, const Request& request,
                                                             Grant& grant) {
  const Node& n = nodes_[node];
  if (n.parent != kMemory || n.write_through || coherence_ == Coherence::kNone) return false;
  if (directory_at_memory() && memory_directory_.find(request.line) != kNoSlot) return false;
  const bool write = is_write(request.kind);
  service_ = {static_cast<uint32_t>(levels_), kMemory};
  read_memory(request);
  bool exclusive = true;
  Slot above = kNoSlot;
  if (directory_at_memory()) {
    memory_.snoops_sent += snoops_at_memory_;
    exclusive = write || n.gives_exclusive;
    above = memory_directory_.open_new(request.line, n.child_number, exclusive, true, kNoSlot);
    if (coherence_ == Coherence::kMesif && !write) memory_directory_.set_forwarder(above, n.child_number);
  }
  const bool child_exclusive = write || (exclusive && nodes_[n.children[child_number]].gives_exclusive);
  const Slot entry = directories_[node].open_new(request.line, child_number, child_exclusive, exclusive, above);
  if (n.inclusion != Inclusion::kExclusive) place_data(node, entry, false);
  grant = {child_exclusive, false, entry};
  return true;
}

// The line is nowhere in the domain of `node` (without coherence: not in its array).
CoherentTree::Grant CoherentTree::fetch_tracked(NodeId node, const Request& request, Slot& entry) {
  const Node& n = nodes_[node];
  const Grant grant = serve(n.parent, n.child_number, request);
  LineDirectory& directory = directories_[node];
  entry = coherence_ != Coherence::kNone ? directory.open_new(request.line) : directory.open(request.line);
  directory.set_exclusive(entry, grant.exclusive);
  directory.set_parent_slot(entry, grant.slot);
  if (n.inclusion == Inclusion::kExclusive) return grant;
  place_data(node, entry, grant.dirty);
  return {grant.exclusive, false, grant.slot};
}

// An exclusive cache gives the line up. Modified data goes along.
CoherentTree::Grant CoherentTree::take_from_exclusive(NodeId node, Slot entry) {
  LineDirectory& directory = directories_[node];
  const Slot data = directory.data(entry);
  const bool dirty = is_dirty(caches_[node].state(data));
  if (caches_[node].orders_by_policy()) caches_[node].touch(data);  // LRU is the same afterwards
  forget_array_line(node, data, Loss::kMoved);
  directory.set_data(entry, kNoSlot);
  return {false, dirty, entry};
}

// Modified data goes from the array of `node`, or through it, to its parent, though the domain keeps the line.
void CoherentTree::write_back_and_keep(NodeId node, Slot entry) {
  const Slot above = directories_[node].parent_slot(entry);
  if (!is_domain_dirty(node, entry) && (nodes_[node].parent != kMemory || directory_at_memory()))
    with_directory(nodes_[node].parent, [&](auto& parent) { parent.set_dirty_child(above, false); });
  write_back(node, above, directories_[node].line(entry));
}

void CoherentTree::obtain_exclusive(NodeId node, Slot entry) {
  const Node& n = nodes_[node];
  const Slot above = with_directory(node, [&](auto& directory) { return directory.parent_slot(entry); });
  if (n.parent == kMemory) {
    CHECK(directory_at_memory());  // else the last level holds every line exclusively
    memory_.snoops_sent += snoops_at_memory_;
    memory_directory_.set_forwarder(above, LineDirectory::kNoChild);
    permission_level_ = static_cast<uint32_t>(levels_);
  } else if (!with_directory(n.parent, [&](auto& directory) { return directory.exclusive(above); })) {
    ++caches_[n.parent].events.upgrades;
    obtain_exclusive(n.parent, above);
  } else {
    permission_level_ = nodes_[n.parent].level;
  }
  with_directory(n.parent, [&](auto& directory) { take_from_siblings(directory, n.parent, above, n.child_number); });
  with_directory(node, [&](auto& directory) { directory.set_exclusive(entry, true); });
}

template <class Directory>
void CoherentTree::take_from_siblings(Directory& directory, NodeId parent, Slot slot, uint32_t child) {
  remove_from_children(directory, parent, slot, child, Loss::kUpgrade, data_of_losers(parent, slot));
  directory.set_owned_by_child(slot, true);
  directory.set_dirty_child(slot, false);
}

CoherentTree::Data CoherentTree::data_of_losers(NodeId parent, Slot slot) {
  if (coherence_ == Coherence::kMoesi) return Data::kHandOver;
  if (parent == kMemory || nodes_[parent].holds_directory()) return Data::kMerge;
  return directories_[parent].data(slot) != kNoSlot ? Data::kMerge : Data::kHandOver;
}

// Others have the line.
template <class Directory>
CoherentTree::Sharing CoherentTree::add_sharer_beside(Directory& directory, NodeId parent, Slot slot, uint32_t child,
                                                      bool write, bool gives) {
  Sharing sharing{write, false};
  if (write) {
    sharing.supplied =
        remove_from_children(directory, parent, slot, kNobody, Loss::kCoherence, data_of_losers(parent, slot));
    directory.set_dirty_child(slot, false);
  } else {
    if (directory.owned_by_child(slot))
      sharing.supplied = downgrade_owner(directory, parent, slot, Data::kMerge);
    else if (directory.dirty_child(slot))
      sharing.supplied = supply_from_owned(directory, parent, slot);
    sharing.exclusive = gives && directory.exclusive(slot) && !has_sharers(directory, slot);
  }
  if (sharing.supplied) {
    service_.supplier = last_modified_;
    if (Details* details = details_of_request()) details->supplied_modified();
  }
  directory.add_sharer(slot, child);
  directory.set_owned_by_child(slot, sharing.exclusive);
  return sharing;
}

template CoherentTree::Sharing CoherentTree::add_sharer_beside(Cache&, NodeId, Slot, uint32_t, bool, bool);

// A child holds the line Owned: it answers, and nothing changes.
template <class Directory>
bool CoherentTree::supply_from_owned(Directory& directory, NodeId parent, Slot slot) {
  const uint64_t line = directory.line(slot);
  for_each_sharer(directory, slot, kNobody, [&](uint32_t child) {
    const NodeId node = children_of(parent)[child];
    if (!is_domain_dirty(node, entry_of(node, line))) return;
    ++caches_[node].events.interventions;
    ++caches_[node].events.dirty_interventions;
    last_modified_ = node;
  });
  return true;
}

}  // namespace simrun::sim
