// The options that say how a run is cut into intervals: of `bbv` and `pinpoints`.
#pragma once

#include "cli/phases/block_profiler.h"

namespace CLI {
class App;
}

namespace simrun::cli {

void add_profile_options(CLI::App& app, ProfilerOptions& options);

}  // namespace simrun::cli
