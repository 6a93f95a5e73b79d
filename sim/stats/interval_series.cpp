#include "sim/stats/interval_series.h"

namespace simrun::sim {

namespace {

// A miss that was false sharing for now may turn out true in a later interval: the two are one here.
MissClasses without_kinds_of_sharing(MissClasses classes) {
  classes.true_sharing += classes.false_sharing;
  classes.false_sharing = 0;
  return classes;
}

void subtract(std::vector<CoreStatistics>& from, const std::vector<CoreStatistics>& earlier) {
  for (size_t i = 0; i < earlier.size(); ++i) from[i] -= earlier[i];
}

}  // namespace

Interval IntervalSeries::sum_of(uint64_t instructions, const Statistics& statistics) {
  Interval sum;
  sum.instructions = instructions;
  for (const LevelStatistics& level : statistics.levels) {
    sum.levels.push_back(level.total);
    if (level.details) sum.classes.push_back(without_kinds_of_sharing(level.details->classes));
  }
  sum.by_core = statistics.cores, sum.by_thread = statistics.threads;
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
  for (size_t i = 0; i < last_.classes.size(); ++i) change.classes[i] -= last_.classes[i];
  subtract(change.by_core, last_.by_core);
  subtract(change.by_thread, last_.by_thread);
  change.cores -= last_.cores;
  change.memory -= last_.memory;
  intervals_.push_back(std::move(change));
  last_ = total;
}

}  // namespace simrun::sim
