// The templates of CoherentTree over the two kinds of directory that take lines or permission away.
#pragma once

#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

template <class Directory>
bool CoherentTree::remove_from_children(Directory& directory, NodeId parent, Slot slot, uint32_t keep_child,
                                        Loss reason, Data data) {
  const uint64_t line = directory.line(slot);
  bool any_modified = false;
  for_each_sharer(directory, slot, keep_child, [&](uint32_t child_number) {
    const NodeId child = children_of(parent)[child_number];
    if (is_invalidation(reason)) count_invalidation_sent(parent);
    directory.remove_sharer(slot, child_number);
    if (!remove_domain(child, line, reason)) return;
    any_modified = true;
    last_modified_ = child;
    if (data == Data::kMerge) {
      write_back(child, slot, line);
    } else if (data == Data::kPassThrough) {
      ++caches_[child].events.write_backs_out;
      ++caches_[parent].events.write_backs_in;
    }
  });
  directory.set_owned_by_child(slot, false);
  return any_modified;
}

template <class Directory>
bool CoherentTree::downgrade_owner(Directory& directory, NodeId parent, Slot slot, Data data) {
  bool modified = false;
  for_each_sharer(directory, slot, kNobody, [&](uint32_t child_number) {
    const NodeId child = children_of(parent)[child_number];
    const uint64_t line = directory.line(slot);
    if (!downgrade_domain(child, line)) return;
    modified = true;
    last_modified_ = child;
    if (coherence_ == Coherence::kMoesi) {
      directory.set_dirty_child(slot, true);
    } else if (data == Data::kMerge) {
      write_back(child, slot, line);
    } else {
      ++caches_[child].events.write_backs_out;
      ++caches_[parent].events.write_backs_in;
    }
  });
  directory.set_owned_by_child(slot, false);
  return modified;
}

}  // namespace simrun::sim
