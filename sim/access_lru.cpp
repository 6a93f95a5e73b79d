// Accesses of the usual machine that the shortcut does not answer: one function for each shape of its levels.
#include <bit>
#include <iterator>
#include <utility>

#include "sim/coherence/lru_miss.h"
#include "sim/hierarchy.h"

namespace simrun::sim {

// Functions in tail position, so that nobody saves registers twice. Level 1 is not searched: level 2 has all its lines, and
// knows which. (Three streams in step through one set of level 1, each access a miss of all levels: 26.0 ns with a search,
// whose load of the tags waited for the store of the last one, and 22.7 without; hits of level 2 16.4 and 15.8.)
template <uint32_t kWays2, uint32_t kWays3>
void Hierarchy::access_lru(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line) {
  const CoherentTree::LruStep &one = port.lru.steps[0], &two = port.lru.steps[1];
  const uint64_t tag = line >> two.set_shift;
  const auto block = SetBlock<kWays2, true, kWays3 != 0>::of_set(two.blocks, line & two.set_mask);
  if (tag >= *two.narrow_tags) [[unlikely]]
    return access_wide<kWays2, kWays3>(hierarchy, port, core, kind, line);
  const uint32_t mask = block.matches(static_cast<uint32_t>(tag));
  if (mask == 0) return fetch_lru<kWays2, kWays3>(hierarchy, port, core, kind, line);
  const size_t found = lowest(mask);
  if ((block.sharers(found) & one.child_bit) != 0) [[unlikely]]
    return find_unguessed(hierarchy, port, core, kind, line);
  take_lru<kWays2, kWays3>(hierarchy, port, core, kind, line, found);
}

// Level 1 has the line: the guess was wrong, or it is written for the first time.
[[gnu::noinline]] void Hierarchy::find_unguessed(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind,
                                                 uint64_t line) {
  const CoherentTree::LruWay& way = port.lru;
  const CoherentTree::LruStep& one = way.steps[0];
  const uint64_t set = line & one.set_mask;
  const uint32_t mask = Level1Block::of_set(one.blocks, set).matches(static_cast<uint32_t>(line >> one.set_shift));
  DCHECK(mask != 0);
  const auto slot = static_cast<Slot>(set * kLevel1Ways + lowest(mask));
  Cache::Recent& recent = way.recent[slot];
  if (recent.key >> 1 != line) return hierarchy.access_8_ways(port, core, kind, line);
  recent.used = ++*way.clock;
  way.guesses[Cache::place_of(line, way.guess_mask)] = static_cast<Cache::Guess>(slot);
  if (!recent.answers(line, is_write(kind))) hierarchy.first_write(port, core, kind, slot);
}

template <uint32_t kWays2, uint32_t kWays3>
[[gnu::noinline]] void Hierarchy::access_wide(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind,
                                              uint64_t line) {
  const CoherentTree::LruStep &one = port.lru.steps[0], &two = port.lru.steps[1];
  const uint64_t set = line & two.set_mask;
  const auto block = SetBlock<kWays2, true, kWays3 != 0>::of_set(two.blocks, set);
  const uint32_t mask = find_wide(two, block, set, line >> two.set_shift);
  if (mask == 0) return fetch_lru<kWays2, kWays3>(hierarchy, port, core, kind, line);
  const size_t found = lowest(mask);
  if ((block.sharers(found) & one.child_bit) != 0)
    return find_unguessed(hierarchy, port, core, kind, line);
  take_lru<kWays2, kWays3>(hierarchy, port, core, kind, line, found);
}

template <uint32_t kWays2, uint32_t kWays3>
[[gnu::noinline]] void Hierarchy::take_lru(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line,
                                           size_t found) {
  hierarchy.count_answer(port, core, kind, hierarchy.tree_.take_lru<kWays2, kWays3>(port.lru, kind, line, found));
}

template <uint32_t kWays2, uint32_t kWays3>
[[gnu::noinline]] void Hierarchy::fetch_lru(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind,
                                            uint64_t line) {
  hierarchy.count_answer(port, core, kind, hierarchy.tree_.fetch_lru<kWays2, kWays3>(port.lru, kind, line));
}

inline void Hierarchy::count_answer(Port& port, uint32_t core, Access kind, CoherentTree::Answer answer) {
  ++port.answered[answer.level][index(kind)];
  if (answer.handed_over) [[unlikely]]
    count_transfer(port, core, kind);
}

// Of a machine with TLBs or prefetchers, whatever lies behind level 2: the commonest miss as the usual machine has it. Level 1 is not
// searched here either.
template <uint32_t kWays2, bool kHasParent>
bool Hierarchy::take_observed(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line) {
  constexpr uint32_t kAnyWays3 = kHasParent ? 8 : 0;  // level 3 is not looked at
  const CoherentTree::LruStep &one = port.lru.steps[0], &two = port.lru.steps[1];
  const uint64_t set = line & two.set_mask, tag = line >> two.set_shift;
  const auto block = SetBlock<kWays2, true, kHasParent>::of_set(two.blocks, set);
  const uint32_t mask =
      tag < *two.narrow_tags ? block.matches(static_cast<uint32_t>(tag)) : find_wide(two, block, set, tag);
  if (mask == 0) return false;
  const size_t found = lowest(mask);
  if ((block.sharers(found) & one.child_bit) != 0) return false;  // level 1 has it
  if (const uint8_t* marked = port.lru.marked_in_level2; marked != nullptr && marked[set * kWays2 + found] != 0) return false;
  if (port.unit != nullptr) hierarchy.show_miss(port, core, kind, line);
  const CoherentTree::Answer answer = hierarchy.tree_.take_lru<kWays2, kAnyWays3>(port.lru, kind, line, found);
  hierarchy.count_answer(port, core, kind, answer);
  if (port.unit != nullptr) {
    port.unit->forget_mark(answer.slot);
    hierarchy.prefetch();
  }
  return true;
}

void Hierarchy::count_answered(const Port& port) {
  if (port.access_lru == nullptr && port.take_observed == nullptr) return;
  CoherentTree::count_write_backs(port.lru);
  for (uint32_t level = 1; level < std::size(port.answered); ++level)
    for (size_t kind = 0; kind < kAccessKinds; ++kind) {
      const uint64_t misses = std::exchange(port.answered[level][kind], 0);
      port.counts.misses[kind] += misses, port.served[level][kind] += misses;
      CoherentTree::count_answered(port.lru, static_cast<Access>(kind), level, misses);
    }
}

void Hierarchy::choose_lru() {
  for (uint32_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    count_answered(port);
    port.access_lru = nullptr, port.take_observed = nullptr;
    if (port.way == Way::kThrough && tree_.nobody_watches()) {
      port.lru = tree_.lru_way_to_level2(i / 2, tree_.node(port.node).side);
      tree_.go_near(port.lru);
      const bool has_parent = port.lru.level2_has_parent;
      if (port.lru.ways_of_level2 == 8) port.take_observed = has_parent ? &take_observed<8, true> : &take_observed<8, false>;
      if (port.lru.ways_of_level2 == 16) port.take_observed = has_parent ? &take_observed<16, true> : &take_observed<16, false>;
    }
    if (port.way != Way::kLru8 || port.plain == nullptr || prefetches_ || !tree_.nobody_watches()) continue;
    port.lru = tree_.lru_way(i / 2, tree_.node(port.node).side);
    const auto choose = [&]<uint32_t kWays2>() {
      switch (port.lru.ways_of_level3) {
        case 0:
          return &Hierarchy::access_lru<kWays2, 0>;
        case 8:
          return &Hierarchy::access_lru<kWays2, 8>;
        default:
          return &Hierarchy::access_lru<kWays2, 16>;
      }
    };
    if (port.lru.ways_of_level2 == 8) port.access_lru = choose.operator()<8>();
    if (port.lru.ways_of_level2 == 16) port.access_lru = choose.operator()<16>();
  }
}

}  // namespace simrun::sim
