// Sums of counts.
#include "sim/stats/statistics.h"

#include <map>

#include "base/check.h"

namespace simrun::sim {

CacheStatistics& CacheStatistics::operator+=(const CacheStatistics& o) {
  requests += o.requests;
  evictions += o.evictions;
  write_backs_out += o.write_backs_out;
  write_backs_in += o.write_backs_in;
  back_invalidations += o.back_invalidations;
  flushed_lines += o.flushed_lines;
  upgrades += o.upgrades;
  invalidations_sent += o.invalidations_sent;
  invalidations_received += o.invalidations_received;
  downgrades += o.downgrades;
  interventions += o.interventions;
  dirty_interventions += o.dirty_interventions;
  clean_supplies += o.clean_supplies;
  supplied_by_children += o.supplied_by_children;
  victims_in += o.victims_in;
  writes_passed_on += o.writes_passed_on;
  snoops_sent += o.snoops_sent;
  prefetches_issued += o.prefetches_issued;
  prefetches_redundant += o.prefetches_redundant;
  prefetches_useful += o.prefetches_useful;
  prefetches_late += o.prefetches_late;
  prefetches_unused += o.prefetches_unused;
  return *this;
}

CoreStatistics& CoreStatistics::operator+=(const CoreStatistics& o) {
  fetches += o.fetches;
  loads += o.loads;
  stores += o.stores;
  read_modify_writes += o.read_modify_writes;
  prefetches += o.prefetches;
  flushes += o.flushes;
  line_crossings += o.line_crossings;
  if (served.size() < o.served.size()) served.resize(o.served.size());
  for (size_t i = 0; i < o.served.size(); ++i) served[i] += o.served[i];
  handed_over += o.handed_over;
  fetch_tlb += o.fetch_tlb;
  data_tlb += o.data_tlb;
  if (upgrades.size() < o.upgrades.size()) upgrades.resize(o.upgrades.size());
  for (size_t i = 0; i < o.upgrades.size(); ++i) upgrades[i] += o.upgrades[i];
  return *this;
}

Statistics& Statistics::operator+=(const Statistics& o) {
  CHECK(levels.size() == o.levels.size() && cores.size() == o.cores.size());
  for (size_t i = 0; i < levels.size(); ++i) {
    levels[i].total += o.levels[i].total;
    for (size_t j = 0; j < levels[i].caches.size(); ++j) {
      CacheInstanceStatistics& cache = levels[i].caches[j];
      const CacheInstanceStatistics& other = o.levels[i].caches[j];
      cache.total += other.total;
      for (size_t k = 0; k < cache.by_core.size(); ++k) cache.by_core[k] += other.by_core[k];
      for (size_t k = 0; k < cache.sharing_degrees.size(); ++k) cache.sharing_degrees[k] += other.sharing_degrees[k];
    }
  }
  for (size_t i = 0; i < cores.size(); ++i) cores[i] += o.cores[i];
  memory += o.memory;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> lines;
  for (const Transfer& t : transfers) lines[{t.to, t.from}] += t.lines;
  for (const Transfer& t : o.transfers) lines[{t.to, t.from}] += t.lines;
  std::vector<Transfer> sum;
  for (const auto& [cores_of, count] : lines) sum.push_back({cores_of.first, cores_of.second, count});
  transfers = std::move(sum);
  return *this;
}

}  // namespace simrun::sim
