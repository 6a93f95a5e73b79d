#include "sim/stats/interval_series.h"

namespace simrun::sim {

Interval IntervalSeries::sum_of(uint64_t instructions, const Statistics& statistics) {
  Interval sum;
  sum.instructions = instructions;
  for (const LevelStatistics& level : statistics.levels) sum.levels.push_back(level.total);
  for (const CoreStatistics& core : statistics.cores) sum.cores += core;
  sum.memory = statistics.memory;
  return sum;
}

void IntervalSeries::take(uint64_t instructions, const Statistics& now) {
  if (instructions == last_.instructions) return;
  const Interval total = sum_of(instructions, now);
  Interval change = total;
  change.instructions -= last_.instructions;
  for (size_t i = 0; i < last_.levels.size(); ++i) change.levels[i] -= last_.levels[i];
  change.cores -= last_.cores;
  change.memory -= last_.memory;
  intervals_.push_back(std::move(change));
  last_ = total;
}

}  // namespace simrun::sim
