// The options that say how a run is cut into intervals: of `bbv` and `pinpoints`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/phases/block_profiler.h"

namespace simrun::cli {

void add_profile_options(CLI::App& app, ProfilerOptions& options);

// Numbers of instructions as people write them: 1000000, 1M, 30M, 1.5G (powers of 1000).
CLI::Validator instruction_count();

}  // namespace simrun::cli
