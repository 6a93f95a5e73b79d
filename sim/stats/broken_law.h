// Balances that the counts of every machine keep: for runs with --check, beside the invariants of the state.
#pragma once

#include <string>

#include "sim/build/machine_config.h"
#include "sim/stats/statistics.h"

namespace simrun::sim {

// The first one that does not hold, in one line; empty when all do.
std::string find_broken_law(const MachineConfig& machine, const Statistics& statistics);

}  // namespace simrun::sim
