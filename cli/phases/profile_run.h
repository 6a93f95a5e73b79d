// One run of a program for its profile: what `bbv` and `pinpoints` share.
#pragma once

#include "cli/phases/block_profiler.h"
#include "cli/phases/recorded_run.h"
#include "cli/program_options.h"
#include "cli/run_result.h"

namespace simrun::cli {

struct ProfiledRun {
  RunResult result;           // its warnings are printed already
  simpoint::Profile profile;  // without its intervals, which were given to `on_interval`
  uint64_t intervals = 0;
};

// Of a run without any interval.
std::string why_no_vectors(const RunResult& result);

// Counts in the program where that is enough: intervals of fixed length with nothing left out. Else from a trace, at
// about three times the cost.
ProfiledRun profile_run(ProgramOptions program, const ProfilerOptions& options,
                        const BlockProfiler::OnInterval& on_interval);
// The same of a trace.
ProfiledRun profile_recorded(RecordedRun& recorded, const ProfilerOptions& options, bool quiet,
                             const BlockProfiler::OnInterval& on_interval);

}  // namespace simrun::cli
