// One run into a trace, from which all else is read then.
#pragma once

#include <string>

#include "cli/program_options.h"
#include "cli/run_result.h"
#include "sim/build/machine_config.h"

namespace simrun::cli {

// The signal that simrun got and by which the program has ended, or that came when it had ended already; 0: nothing of the kind.
int interrupted_by(const RunResult& result);

// `path`: complete when this returns; not there when it throws or a signal that simrun got has ended the program. The threads are on the
// machine's cores. Throws UserError.
RunResult record_run(const ProgramOptions& program, const sim::MachineConfig& machine, const std::string& path);

}  // namespace simrun::cli
