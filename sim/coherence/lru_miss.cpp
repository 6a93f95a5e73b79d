// Of misses of the usual machine (lru_miss.h): what they know of the levels, what is rare, and what their counts mean.
#include <bit>
#include <utility>

#include "sim/coherence/lose_lines.h"
#include "sim/coherence/lru_miss.h"

namespace simrun::sim {

// False: the cache is of another shape.
bool CoherentTree::add_lru_step(LruWay& way, uint32_t level, const Step& step) {
  Cache& cache = *step.cache;
  const Cache::Rows rows = cache.rows();
  const bool fits = level == 0 ? cache.orders_by_time() && cache.ways() == 8 : cache.ways() == 8 || cache.ways() == 16;
  if (rows.blocks == nullptr || !fits) return false;
  way.steps[level] = {.blocks = rows.blocks,
                      .set_mask = rows.set_mask,
                      .narrow_tags = rows.narrow_tags,
                      .upper_tags = rows.upper_tags,
                      .cache = &cache,
                      .set_shift = rows.set_shift,
                      .child_bit = static_cast<uint8_t>(1u << step.child_number),
                      .gives_exclusive = step.gives_exclusive,
                      .child_number = step.child_number,
                      .node = step.node,
                      .requests = step.requests,
                      .sharing_degrees = cache.counts_visitors() ? cache.sharing_degrees.data() : nullptr};
  if (level != 0) return true;
  const Cache::Shortcut shortcut = cache.shortcut();
  way.recent = shortcut.slots, way.guesses = shortcut.guesses;
  way.guess_mask = shortcut.guess_mask, way.clock = shortcut.clock;
  return true;
}

CoherentTree::LruWay CoherentTree::lru_way_to_level2(uint32_t core, Side side) {
  const Way& all = way(core, side);
  if (all.levels < 2 || coherence_ == Coherence::kNone) return {};
  const NodeId id = all.steps[1].node;
  const Node &one = nodes_[all.steps[0].node], &two = nodes_[id];
  if (one.write_through || !one.write_allocate || !two.holds_directory()) return {};
  LruWay result;
  if (two.prefetches) {
    if (prefetch_units_[id]->predictor.sees_hits()) return {};
    result.marked_in_level2 = prefetch_units_[id]->marked.data();
  }
  for (uint32_t level = 0; level < 2; ++level)
    if (!add_lru_step(result, level, all.steps[level])) return {};
  all.steps[0].cache->keep_upper();
  result.ways_of_level2 = all.steps[1].cache->ways();
  result.level2_has_parent = all.steps[1].cache->rows().has_parent;
  const bool has_parent = result.level2_has_parent;
  if (two.plain) return result;
  if (result.ways_of_level2 == 8)
    result.miss_near = has_parent ? &CoherentTree::miss_near<8, true> : &CoherentTree::miss_near<8, false>;
  else
    result.miss_near = has_parent ? &CoherentTree::miss_near<16, true> : &CoherentTree::miss_near<16, false>;
  return result;
}

void CoherentTree::go_near(const LruWay& way) {
  const NodeId node = way.steps[0].node;
  if (way.miss_near != nullptr && nodes_[node].cores == 1) near_ways_[node] = &way;
}

template <uint32_t kWays2, bool kHasParent>
Slot CoherentTree::miss_near(const LruWay& way, const Request& r) {
  constexpr uint32_t kAnyWays3 = kHasParent ? 8 : 0;  // level 3 is not looked at
  const LruStep &one = way.steps[0], &two = way.steps[1];
  const Node& n = nodes_[two.node];
  const bool write = is_write(r.kind);
  const uint64_t set = r.line & two.set_mask, tag = r.line >> two.set_shift;
  const auto block = SetBlock<kWays2, true, kHasParent>::of_set(two.blocks, set);
  ++two.requests->accesses[index(r.kind)];
  const uint32_t mask = tag < *two.narrow_tags ? block.matches(static_cast<uint32_t>(tag)) : find_wide(two, block, set, tag);
  Slot above;
  bool exclusive;
  if (mask != 0) {
    const size_t found = lowest(mask);
    above = static_cast<Slot>(set * kWays2 + found);
    if (n.prefetches) observe(two.node, r, above);
    service_ = {1, kMemory};
    use(two, block, found, above, write);
    Answer answer{1, false};
    exclusive = share(one, two, block, found, above, write, answer);
  } else {
    if (n.prefetches) observe(two.node, r, kNoSlot);
    ++two.requests->misses[index(r.kind)];
    if (kHasParent && n.parent != kMemory && !nodes_[n.parent].holds_directory()) prefetch_for_miss(two.node, r.line);
    const Grant grant = serve(n.parent, n.child_number, r);
    exclusive = write | (one.gives_exclusive & grant.exclusive);
    above = make_room_in_level2<kWays2, kHasParent>(two, set);
    const size_t victim = above % kWays2;
    put_lru(two, block, victim, above, tag, state_byte(grant.exclusive, grant.dirty, exclusive), one.child_bit);
    if constexpr (kHasParent) block.parent(victim) = grant.slot;
  }
  ++one.cache->events.evictions;
  const Slot slot = put_in_level1<kWays2, kAnyWays3>(way, r.kind, r.line, above, state_byte(exclusive, write, false),
                                                     least_recent(way.recent + (r.line & one.set_mask) * kLevel1Ways));
  if (nodes_[one.node].prefetches) prefetch_units_[one.node]->forget_mark(slot);
  return slot;
}

// Its oldest way: what is in use there leaves as by evict(), but stays there until it is replaced.
template <uint32_t kWays2, bool kHasParent>
[[gnu::always_inline]] inline Slot CoherentTree::make_room_in_level2(const LruStep& two, uint64_t set) {
  const auto block = SetBlock<kWays2, true, kHasParent>::of_set(two.blocks, set);
  const size_t victim = block.oldest();
  const auto slot = static_cast<Slot>(set * kWays2 + victim);
  if ((block.state(victim) & kStateMask) == 0) return slot;
  Cache& cache = *two.cache;
  ++cache.events.evictions;
  if (block.sharers(victim) != 0) remove_from_children(cache, two.node, slot, kNobody, Loss::kBackInvalidation, Data::kMerge);
  if (two.sharing_degrees != nullptr) cache.count_visitors(slot);
  if (nodes_[two.node].prefetches) prefetch_units_[two.node]->forget_mark(slot);
  Slot above = kNoSlot;
  if constexpr (kHasParent) above = block.parent(victim);
  leave_domain(two.node, above, cache.line(slot), block.is_dirty(victim));
  return slot;
}

CoherentTree::LruWay CoherentTree::lru_way(uint32_t core, Side side) {
  const Way& plain = way(core, side);
  LruWay result;
  if (plain.levels < 2 || plain.levels >= result.steps.size()) return result;
  for (uint32_t level = 0; level < plain.levels; ++level)
    if (!plain.steps[level].plain || !add_lru_step(result, level, plain.steps[level])) return {};
  result.ways_of_level2 = plain.steps[1].cache->ways();
  if (plain.levels > 2) result.ways_of_level3 = plain.steps[2].cache->ways();
  plain.steps[0].cache->keep_upper();
  for (const bool write : {false, true}) {
    const bool exclusive2 = write || plain.levels == 2 || plain.steps[1].gives_exclusive;
    const bool exclusive1 = write || (plain.steps[0].gives_exclusive && exclusive2);
    result.fresh[write] = {.level1 = state_byte(exclusive1, write, false),
                           .level2 = state_byte(exclusive2, false, exclusive1),
                           .level3 = state_byte(true, false, exclusive2)};
  }
  return result;
}

// What is in `slot`, or nothing, is about to be replaced; make_room() and count_answered() take it for a line that one
// child had. Returns whether there is something.
[[gnu::noinline]] bool CoherentTree::make_room_rarely(const LruStep& step, uint32_t visitors, Slot slot) {
  Cache& cache = *step.cache;
  if (step.sharing_degrees != nullptr) --step.sharing_degrees[1];
  if (!cache.holds_line(slot)) {
    --cache.events.evictions;
    return false;
  }
  remove_from_children(cache, step.node, slot, kNobody, Loss::kBackInvalidation, Data::kMerge);
  if (step.sharing_degrees != nullptr) ++step.sharing_degrees[std::popcount(visitors)];
  return true;
}

// `misses` of level 1 of one kind, answered by `level`. Each put a line into all levels nearer the core, where another
// line was evicted that one child had had: what was not so, is taken back at once.
void CoherentTree::count_answered(const LruWay& way, Access access, uint32_t level, uint64_t misses) {
  for (uint32_t i = 0; i < level && way.steps[i].cache != nullptr; ++i) {
    const LruStep& step = way.steps[i];
    step.cache->events.evictions += misses;
    if (step.sharing_degrees != nullptr) step.sharing_degrees[1] += misses;
    if (i != 0) step.requests->misses[index(access)] += misses;
    if (way.steps[i + 1].cache != nullptr) way.steps[i + 1].requests->accesses[index(access)] += misses;
  }
}

void CoherentTree::count_write_backs(const LruWay& way) {
  for (uint32_t i = 0; i + 1 < way.steps.size() && way.steps[i].cache != nullptr; ++i) {
    const uint64_t lines = std::exchange(way.steps[i].write_backs, 0);
    way.steps[i].cache->events.write_backs_out += lines;
    if (way.steps[i + 1].cache != nullptr) way.steps[i + 1].cache->events.write_backs_in += lines;
  }
}

}  // namespace simrun::sim
