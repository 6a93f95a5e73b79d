// What is compared between regions and the whole run: the counts of a stretch of it, and the figures made of them.
#pragma once

#include <string>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/stats/statistics.h"
#include "simpoint/prediction.h"

namespace simrun::cli {

// The counts of the model since its construction, [0] the instructions that are given.
simpoint::Counts counts_of(const sim::Statistics& statistics, uint64_t instructions);

// A ratio of two sums of counts that is predicted and measured.
struct Figure {
  std::string name, unit;
  double floor = 0;                           // below it errors are relative to it (simpoint::relative_error)
  std::vector<std::pair<size_t, double>> of;  // index of a count, factor
  double constant = 0;

  double value(const simpoint::Counts& counts) const;  // sum of the counts / instructions, and the constant
};

// MPKI of each level, lines from memory, loads and stores for each 100 instructions, and the estimate of CPI:
//   1 + sum over the levels of misses * (latency of the next - latency of this one) / instructions
// (in-order, one instruction a cycle, nothing overlaps: an upper bound that is monotone in the latencies).
std::vector<Figure> figures_of(const sim::MachineConfig& machine, const sim::Statistics& statistics);

}  // namespace simrun::cli
