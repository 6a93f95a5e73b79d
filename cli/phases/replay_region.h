// The trace of a region through a cache model, from the stored state of the caches at its start.
#pragma once

#include <string>

#include "sim/build/machine_config.h"
#include "simpoint/prediction.h"
#include "traces/reader.h"

namespace simrun::cli {

// The counts behind the warm-up, which the trace says. Throws UserError for bad files, traces::TraceError for damaged
// traces.
simpoint::Counts replay_region(const std::string& trace, const std::string& state, const sim::MachineConfig& machine);

// Instructions before the region, in the trace of one. Throws UserError for another trace.
uint64_t warm_up_of_region(const traces::Reader& trace);

}  // namespace simrun::cli
