// The trace of a region through a cache model, from the stored state of the caches at its start.
#pragma once

#include <string>

#include "sim/build/machine_config.h"
#include "simpoint/prediction.h"

namespace simrun::cli {

// The counts behind the first `warm_up` instructions. Throws UserError for bad files, traces::TraceError for damaged
// traces.
simpoint::Counts replay_region(const std::string& trace, const std::string& state, uint64_t warm_up,
                               const sim::MachineConfig& machine);

}  // namespace simrun::cli
