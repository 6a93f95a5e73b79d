#include "sim/stats/broken_law.h"

#include <fmt/format.h>

#include <vector>

namespace simrun::sim {

namespace {

std::string unless_equal(uint64_t a, uint64_t b, const std::string& what) {
  return a == b ? "" : fmt::format("{}: {} and {}", what, a, b);
}

std::string broken_between(const CacheStatistics& here, const CacheStatistics& next, const std::string& name) {
  // Without a hit or miss of their own: passed writes, which a hit may cause too.
  if (here.writes_passed_on == 0)
    if (auto e = unless_equal(all(here.requests.misses) + here.prefetches_issued,
                              all(next.requests.accesses) + here.supplied_by_children,
                              name + ": misses and prefetches against accesses of the next level");
        !e.empty())
      return e;
  if (auto e = unless_equal(here.write_backs_out, next.write_backs_in, name + ": write-backs out against in");
      !e.empty())
    return e;
  return unless_equal(here.invalidations_received, next.invalidations_sent, name + ": invalidations received, sent");
}

}  // namespace

std::vector<CacheStatistics> by_level(const Statistics& s) {
  std::vector<CacheStatistics> levels;
  for (const LevelStatistics& l : s.levels) {
    levels.resize(l.level);
    levels[l.level - 1] += l.total;
  }
  return levels;
}

std::string find_broken_law(const MachineConfig& machine, const Statistics& s) {
  const std::vector<CacheStatistics> levels = by_level(s);
  CoreStatistics cores;
  for (const CoreStatistics& core : s.cores) cores += core;
  AccessCounts served;
  for (const AccessCounts& level : cores.served) served += level;
  if (auto e = unless_equal(all(served), all(levels[0].requests.accesses), "accesses served, made"); !e.empty())
    return e;
  for (size_t i = 0; i < levels.size(); ++i) {
    const CacheStatistics& here = levels[i];
    const std::string& name = machine.levels[i].name;
    if (all(here.requests.misses) > all(here.requests.accesses)) return name + ": more misses than accesses";
    if (here.dirty_interventions > here.interventions) return name + ": more dirty interventions than interventions";
    if (here.prefetches_useful + here.prefetches_unused > here.prefetches_issued)
      return name + ": more prefetches ended than issued";
    if (i + 1 < levels.size()) {
      if (auto e = broken_between(here, levels[i + 1], name); !e.empty()) return e;
    } else if (here.writes_passed_on == 0) {
      if (auto e = unless_equal(here.write_backs_out, s.memory.writes, name + ": write-backs, memory writes");
          !e.empty())
        return e;
    }
  }
  uint64_t handed = 0;
  for (const Transfer& t : s.transfers) handed += t.lines;
  return unless_equal(handed, all(cores.handed_over), "lines handed over by pair, by kind");
}

}  // namespace simrun::sim
