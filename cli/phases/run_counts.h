// What is compared between regions and the whole run: the counts of a stretch of it, and the figures made of them.
#pragma once

#include <string>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/stats/statistics.h"
#include "simpoint/prediction.h"

namespace simrun::cli {

// What they are, for files that keep them.
inline constexpr const char* kCounts = "instructions, loads, stores, memory reads, cycles, misses of each level";
// The counts of the model since its construction, [0] the instructions that are given.
simpoint::Counts counts_of(const sim::MachineConfig& machine, const sim::Statistics& statistics, uint64_t instructions);

// A ratio of two sums of counts that is predicted and measured.
struct Figure {
  std::string name, unit;
  double floor = 0;                           // below it errors are relative to it (simpoint::relative_error)
  std::vector<std::pair<size_t, double>> of;  // index of a count, factor

  double value(const simpoint::Counts& counts) const;  // sum of the counts / instructions
};

// MPKI of each level, lines from memory, loads and stores for each 100 instructions, and CPI as a simulation of the whole
// run reports it (sim/stats/timing.h: a sum over counts).
std::vector<Figure> figures_of(const sim::Statistics& statistics);

}  // namespace simrun::cli
