// Sums of counts.
#include "sim/stats/statistics.h"

#include <map>

#include "base/check.h"

namespace simrun::sim {

namespace {

constexpr uint64_t CacheStatistics::*kCacheCounts[] = {&CacheStatistics::evictions,
                                                       &CacheStatistics::write_backs_out,
                                                       &CacheStatistics::write_backs_in,
                                                       &CacheStatistics::back_invalidations,
                                                       &CacheStatistics::flushed_lines,
                                                       &CacheStatistics::upgrades,
                                                       &CacheStatistics::invalidations_sent,
                                                       &CacheStatistics::invalidations_received,
                                                       &CacheStatistics::downgrades,
                                                       &CacheStatistics::interventions,
                                                       &CacheStatistics::dirty_interventions,
                                                       &CacheStatistics::clean_supplies,
                                                       &CacheStatistics::supplied_by_children,
                                                       &CacheStatistics::victims_in,
                                                       &CacheStatistics::writes_passed_on,
                                                       &CacheStatistics::snoops_sent,
                                                       &CacheStatistics::prefetches_issued,
                                                       &CacheStatistics::prefetches_redundant,
                                                       &CacheStatistics::prefetches_useful,
                                                       &CacheStatistics::prefetches_late,
                                                       &CacheStatistics::prefetches_unused};

constexpr uint64_t CoreStatistics::*kCoreCounts[] = {
    &CoreStatistics::fetches,       &CoreStatistics::loads,
    &CoreStatistics::stores,        &CoreStatistics::read_modify_writes,
    &CoreStatistics::prefetches,    &CoreStatistics::flushes,
    &CoreStatistics::line_crossings};

}  // namespace

CacheStatistics& CacheStatistics::operator+=(const CacheStatistics& o) {
  requests += o.requests;
  for (auto count : kCacheCounts) this->*count += o.*count;
  return *this;
}

CacheStatistics& CacheStatistics::operator-=(const CacheStatistics& o) {
  requests = {requests.accesses - o.requests.accesses, requests.misses - o.requests.misses};
  for (auto count : kCacheCounts) this->*count -= o.*count;
  return *this;
}

CoreStatistics& CoreStatistics::operator+=(const CoreStatistics& o) {
  for (auto count : kCoreCounts) this->*count += o.*count;
  if (served.size() < o.served.size()) served.resize(o.served.size());
  for (size_t i = 0; i < o.served.size(); ++i) served[i] += o.served[i];
  if (upgrades.size() < o.upgrades.size()) upgrades.resize(o.upgrades.size());
  for (size_t i = 0; i < o.upgrades.size(); ++i) upgrades[i] += o.upgrades[i];
  handed_over += o.handed_over;
  fetch_tlb += o.fetch_tlb;
  data_tlb += o.data_tlb;
  return *this;
}

CoreStatistics& CoreStatistics::operator-=(const CoreStatistics& o) {
  for (auto count : kCoreCounts) this->*count -= o.*count;
  for (size_t i = 0; i < o.served.size(); ++i) served[i] = served[i] - o.served[i];
  for (size_t i = 0; i < o.upgrades.size(); ++i) upgrades[i] -= o.upgrades[i];
  handed_over = handed_over - o.handed_over;
  fetch_tlb -= o.fetch_tlb;
  data_tlb -= o.data_tlb;
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
  if (threads.size() < o.threads.size()) threads.resize(o.threads.size());
  for (size_t i = 0; i < o.threads.size(); ++i) threads[i] += o.threads[i];
  memory += o.memory;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> lines;
  for (const Transfer& t : transfers) lines[{t.to, t.from}] += t.lines;
  for (const Transfer& t : o.transfers) lines[{t.to, t.from}] += t.lines;
  std::vector<Transfer> sum;
  for (const auto& [cores_of, count] : lines) sum.push_back({cores_of.first, cores_of.second, count});
  transfers = std::move(sum);
  return *this;
}

Statistics& Statistics::operator-=(const Statistics& earlier) {
  CHECK(levels.size() == earlier.levels.size() && cores.size() == earlier.cores.size() && threads.size() >= earlier.threads.size());
  const auto subtract = [](RequestStatistics& from, const RequestStatistics& o) { from = {from.accesses - o.accesses, from.misses - o.misses}; };
  for (size_t i = 0; i < levels.size(); ++i) {
    levels[i].total -= earlier.levels[i].total;
    for (size_t j = 0; j < levels[i].caches.size(); ++j) {
      CacheInstanceStatistics& cache = levels[i].caches[j];
      const CacheInstanceStatistics& other = earlier.levels[i].caches[j];
      cache.total -= other.total;
      for (size_t k = 0; k < cache.by_core.size(); ++k) subtract(cache.by_core[k], other.by_core[k]);
      for (size_t k = 0; k < cache.sharing_degrees.size(); ++k) cache.sharing_degrees[k] -= other.sharing_degrees[k];
    }
  }
  for (size_t i = 0; i < cores.size(); ++i) cores[i] -= earlier.cores[i];
  for (size_t i = 0; i < earlier.threads.size(); ++i) threads[i] -= earlier.threads[i];
  memory -= earlier.memory;
  subtract_transfers(transfers, earlier.transfers);
  return *this;
}

void subtract_transfers(std::vector<Transfer>& from, const std::vector<Transfer>& earlier) {
  size_t next = 0;
  for (Transfer& now : from)
    if (next < earlier.size() && earlier[next].to == now.to && earlier[next].from == now.from)
      now.lines -= earlier[next++].lines;
  std::erase_if(from, [](const Transfer& t) { return t.lines == 0; });
}

}  // namespace simrun::sim
