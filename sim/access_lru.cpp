// Accesses of the usual machine that the shortcut does not answer: one function for each shape of its levels.
#include <bit>
#include <iterator>
#include <utility>

#include "sim/coherence/lru_miss.h"
#include "sim/hierarchy.h"

namespace simrun::sim {

template <uint32_t kWays2, uint32_t kWays3>
void Hierarchy::access_lru(Hierarchy& hierarchy, Port& port, uint32_t core, Access kind, uint64_t line) {
  const CoherentTree::LruWay& way = port.lru;
  const CoherentTree::LruStep& one = way.steps[0];
  const uint64_t set = line & one.set_mask;
  const Level1Block block = Level1Block::of_set(one.blocks, set);
  if (const uint32_t mask = block.matches(static_cast<uint32_t>(line >> one.set_shift)); mask != 0) [[unlikely]] {
    const auto slot = static_cast<Slot>(set * kLevel1Ways + std::countr_zero(mask));
    Cache::Recent& recent = way.recent[slot];
    if (recent.key >> 1 != line) return hierarchy.access_8_ways(port, core, kind, line);
    recent.used = ++*way.clock;
    way.guesses[Cache::place_of(line, way.guess_mask)] = static_cast<Cache::Guess>(slot);
    if (!recent.answers(line, is_write(kind))) hierarchy.first_write(port, core, kind, slot);
    return;
  }
  const CoherentTree::Answer answer = hierarchy.tree_.miss_lru<kWays2, kWays3>(way, kind, line);
  ++port.answered[answer.level][index(kind)];
  if (answer.handed_over) [[unlikely]]
    hierarchy.count_transfer(port, core, kind);
}

void Hierarchy::count_answered(const Port& port) {
  if (port.access_lru == nullptr) return;
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
    port.access_lru = nullptr;
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
