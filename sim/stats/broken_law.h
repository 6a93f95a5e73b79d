// Balances that the counts of every machine keep: for runs with --check, beside the invariants of the state.
#pragma once

#include <string>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/stats/statistics.h"

namespace simrun::sim {

// By level, the halves of split ones added up.
std::vector<CacheStatistics> by_level(const Statistics& statistics);

// The first one that does not hold, in one line; empty when all do.
std::string find_broken_law(const MachineConfig& machine, const Statistics& statistics);

}  // namespace simrun::sim
