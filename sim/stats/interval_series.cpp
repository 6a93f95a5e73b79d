#include "sim/stats/interval_series.h"

#include <algorithm>

namespace simrun::sim {

namespace {

// A miss that was false sharing for now may turn out true in a later interval: the two are one here.
CacheDetails without_kinds_of_sharing(CacheDetails details) {
  details.classes.true_sharing += details.classes.false_sharing;
  details.classes.false_sharing = 0;
  return details;
}

// Of all caches of a level.
std::vector<uint64_t> sharing_degrees(const LevelStatistics& level) {
  std::vector<uint64_t> sum;
  for (const CacheInstanceStatistics& cache : level.caches) {
    sum.resize(std::max(sum.size(), cache.sharing_degrees.size()));
    for (size_t i = 0; i < cache.sharing_degrees.size(); ++i) sum[i] += cache.sharing_degrees[i];
  }
  return sum;
}

void subtract(std::vector<CoreStatistics>& from, const std::vector<CoreStatistics>& earlier) {
  for (size_t i = 0; i < earlier.size(); ++i) from[i] -= earlier[i];
}

// Both by `to`, then `from`; what was there earlier is there now.
void subtract(std::vector<Transfer>& from, const std::vector<Transfer>& earlier) {
  size_t next = 0;
  for (Transfer& now : from)
    if (next < earlier.size() && earlier[next].to == now.to && earlier[next].from == now.from)
      now.lines -= earlier[next++].lines;
  std::erase_if(from, [](const Transfer& t) { return t.lines == 0; });
}

}  // namespace

Interval IntervalSeries::sum_of(uint64_t instructions, const Statistics& statistics) {
  Interval sum;
  sum.instructions = instructions;
  for (const LevelStatistics& level : statistics.levels) {
    sum.levels.push_back(level.total);
    sum.sharing_degrees.push_back(sharing_degrees(level));
    if (level.details) sum.details.push_back(without_kinds_of_sharing(*level.details));
  }
  sum.by_core = statistics.cores, sum.by_thread = statistics.threads;
  for (const CoreStatistics& core : statistics.cores) sum.cores += core;
  sum.memory = statistics.memory;
  sum.transfers = statistics.transfers;
  return sum;
}

void IntervalSeries::take(uint64_t instructions, const Statistics& now) {
  if (instructions == last_.instructions) return;
  const Interval total = sum_of(instructions, now);
  Interval change = total;
  change.instructions -= last_.instructions;
  for (size_t i = 0; i < last_.levels.size(); ++i) change.levels[i] -= last_.levels[i];
  for (size_t i = 0; i < last_.details.size(); ++i) change.details[i] -= last_.details[i];
  for (size_t i = 0; i < last_.sharing_degrees.size(); ++i)
    for (size_t degree = 0; degree < last_.sharing_degrees[i].size(); ++degree)
      change.sharing_degrees[i][degree] -= last_.sharing_degrees[i][degree];
  subtract(change.by_core, last_.by_core);
  subtract(change.by_thread, last_.by_thread);
  change.cores -= last_.cores;
  change.memory -= last_.memory;
  subtract(change.transfers, last_.transfers);
  intervals_.push_back(std::move(change));
  last_ = total;
}

}  // namespace simrun::sim
