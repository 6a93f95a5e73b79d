#include "sim/stats/interval_series.h"

#include <algorithm>
#include <utility>

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

bool counted_nothing(const CoreStatistics& counts) {
  CoreStatistics nothing;
  nothing.served.resize(counts.served.size());
  nothing.upgrades.resize(counts.upgrades.size());
  return counts == nothing;
}

// A thread that has not run since, as most that ever were, has no row: else there would be threads times intervals. Nor has a core on which
// nothing ran, as most of a large machine.
std::vector<IndexedCounts> changes(const std::vector<CoreStatistics>& now, const std::vector<CoreStatistics>& earlier) {
  std::vector<IndexedCounts> changed;
  for (uint32_t i = 0; i < now.size(); ++i) {
    const bool is_new = i >= earlier.size();
    if (is_new ? counted_nothing(now[i]) : now[i] == earlier[i]) continue;
    changed.push_back({i, now[i]});
    if (!is_new) changed.back().counts -= earlier[i];
  }
  return changed;
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
  for (const CoreStatistics& core : statistics.cores) sum.cores += core;
  sum.memory = statistics.memory;
  sum.transfers = statistics.transfers;
  return sum;
}

void IntervalSeries::begin(Statistics now) {
  last_ = sum_of(0, now);
  last_cores_ = std::move(now.cores);
  last_threads_ = std::move(now.threads);
}

void IntervalSeries::take(uint64_t instructions, Statistics now) {
  if (instructions == last_.instructions) return;
  Interval total = sum_of(instructions, now);
  Interval change = total;
  change.instructions -= last_.instructions;
  for (size_t i = 0; i < last_.levels.size(); ++i) change.levels[i] -= last_.levels[i];
  for (size_t i = 0; i < last_.details.size(); ++i) change.details[i] -= last_.details[i];
  for (size_t i = 0; i < last_.sharing_degrees.size(); ++i)
    for (size_t degree = 0; degree < last_.sharing_degrees[i].size(); ++degree)
      change.sharing_degrees[i][degree] -= last_.sharing_degrees[i][degree];
  change.by_core = changes(now.cores, last_cores_);
  change.by_thread = changes(now.threads, last_threads_);
  change.cores -= last_.cores;
  change.memory -= last_.memory;
  subtract_transfers(change.transfers, last_.transfers);
  intervals_.push_back(std::move(change));
  last_ = std::move(total);
  last_cores_ = std::move(now.cores);
  last_threads_ = std::move(now.threads);
}

}  // namespace simrun::sim
