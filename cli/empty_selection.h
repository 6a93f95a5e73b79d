// What to say when nothing of a trace is what a user asked for.
#pragma once

#include "base/user_error.h"
#include "traces/instruction_walk.h"

namespace simrun::cli {

// No instruction is within `walk`: says so, and where those of its thread or process are.
UserError nothing_selected(const traces::Reader& trace, const traces::WalkOptions& walk);

}  // namespace simrun::cli
