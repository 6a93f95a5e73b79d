// A miss of the usual machine when nobody watches: serve() and place() of all levels in one function, without a step
// that has nothing to do there. It counts and leaves what they do.
#include "sim/coherence/lose_lines.h"

namespace simrun::sim {

void CoherentTree::build_ways() {
  const auto cores = static_cast<uint32_t>(level1_[0].size());
  for (uint32_t core = 0; core < cores; ++core)
    for (const auto& level1 : level1_) {
      Way way;
      for (NodeId id = level1[core]; id != kMemory; id = nodes_[id].parent)
        way.steps[way.levels++] = {&caches_[id],
                                   &caches_[id].requests[core - nodes_[id].first_core],
                                   id,
                                   nodes_[id].child_number,
                                   nodes_[id].plain,
                                   nodes_[id].gives_exclusive};
      ways_.push_back(way);
    }
}

Slot CoherentTree::miss_plain(const Way& way, uint32_t from, uint32_t core, Access access, uint64_t line) {
  const size_t kind = index(access);
  const bool write = is_write(access);
  const uint32_t levels = way.levels;

  // Toward memory, to the level that has the line.
  Slot above = kNoSlot;
  uint32_t level = from + 1;
  for (; level != levels; ++level) {
    const Step& step = way.steps[level];
    ++step.requests->accesses[kind];
    above = step.cache->find(line);
    if (above != kNoSlot) {
      service_ = {level, kMemory};
      step.cache->touch(above);
      if (write && !step.cache->exclusive(above)) [[unlikely]] {
        ++step.cache->events.upgrades;
        obtain_exclusive(step.node, above);
      }
      break;
    }
    ++step.requests->misses[kind];
    if (!step.plain) [[unlikely]] {
      above = allocate(step.node, {core, access, line});
      break;
    }
  }
  if (level == levels) {
    service_ = {levels, kMemory};
    ++memory_.reads;
  }

  // And back.
  while (level-- != from) {
    const Step& step = way.steps[level];
    bool exclusive = true;
    if (level + 1 != levels) {
      const Step& parent = way.steps[level + 1];
      exclusive = write || (step.gives_exclusive && parent.cache->exclusive(above));
      if (!parent.cache->add_first_sharer(above, step.child_number, exclusive)) [[unlikely]]
        exclusive = add_sharer(*parent.cache, parent.node, above, step.child_number, write).exclusive;
    }
    above = put_plain(step, level + 1 != levels ? way.steps[level + 1].cache : nullptr, line,
                      make_state(exclusive, write && level == 0), above);
  }
  return above;
}

// `parent`: null at memory. What is in the way leaves as by evict(), but stays in its slot until it is replaced.
[[gnu::always_inline]] inline Slot CoherentTree::put_plain(const Step& step, Cache* parent, uint64_t line, State state,
                                                           Slot parent_slot) {
  Cache& cache = *step.cache;
  const auto leave = [&](Slot, bool dirty, Slot above) {
    ++cache.events.evictions;
    cache.events.write_backs_out += dirty;
    if (parent == nullptr) {
      memory_.writes += dirty;
      return;
    }
    parent->events.write_backs_in += dirty;
    parent->leave_child(above, step.child_number, dirty);
  };
  if (cache.orders_by_age())
    return cache.replace_oldest(
        line, state, parent_slot,
        [&](Slot slot) {
          remove_from_children(cache, step.node, slot, kNobody, Loss::kBackInvalidation, Data::kMerge);
        },
        leave);
  if (cache.hits_by_time()) return cache.replace_least_recent(line, state, parent_slot, leave);
  return place(step.node, line, state, parent_slot);
}

}  // namespace simrun::sim
