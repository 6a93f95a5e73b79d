// `simrun run`: the whole of a run.
#pragma once

#include "cli/command_line.h"

namespace simrun::cli {

// Returns the exit status for simrun: the program's own. Does not return when the program was ended by a signal: then
// simrun ends by the same. Throws UserError.
int run_command(const RunOptions& options);

}  // namespace simrun::cli
