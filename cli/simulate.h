// A run through the cache model, in the form that the options ask for: one machine, in slices, with a miss curve, or
// many machines at once.
#pragma once

#include "cli/run_options.h"
#include "cli/run_result.h"

namespace simrun::cli {

RunResult simulate(const RunOptions& options);

}  // namespace simrun::cli
