// The counts of a run over time: what changed from one look at the statistics to the next.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/stats/statistics.h"

namespace simrun::sim {

// Of a core or a thread, by its index.
struct IndexedCounts {
  uint32_t index = 0;
  CoreStatistics counts;
};

struct Interval {
  uint64_t instructions = 0;                       // of all threads, within the interval
  std::vector<CacheStatistics> levels;             // as Statistics::levels
  CoreStatistics cores;                            // sum over all cores
  std::vector<IndexedCounts> by_core, by_thread;   // those that counted something, ascending
  std::vector<CacheDetails> details;  // by level; true and false sharing as one, in true_sharing. Empty without them
  std::vector<std::vector<uint64_t>> sharing_degrees;  // by level: of the lines that left it, by sharers
  MemoryStatistics memory;
  std::vector<Transfer> transfers;  // as Statistics has them
};

class IntervalSeries {
 public:
  // What was counted before does not belong to the first interval.
  void begin(Statistics now);
  // `instructions`: so far. Nothing new since the last look: no interval.
  void take(uint64_t instructions, Statistics now);
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  static Interval sum_of(uint64_t instructions, const Statistics& statistics);
  Interval last_;  // without cores and threads
  std::vector<CoreStatistics> last_cores_, last_threads_;
  std::vector<Interval> intervals_;
};

}  // namespace simrun::sim
