#include "cli/phases/profile_run.h"

#include <fmt/format.h>

#include "cli/print_error.h"
#include "cli/run_program.h"

namespace simrun::cli {

namespace {

// Of threads that run side by side, each reports so much more often that their intervals end near each other.
constexpr uint64_t kReportsOfThreads = 16;

}  // namespace

ProfiledRun profile_run(ProgramOptions program, const ProfilerOptions& options,
                        const BlockProfiler::OnInterval& on_interval) {
  program.watch_mappings = true;
  ProfiledRun run;
  BlockProfiler profiler(options, [&](const simpoint::Interval& interval, std::span<const simpoint::Entry> entries) {
    on_interval(interval, entries);
    ++run.intervals;
  });
  const bool counts = options.kind == simpoint::IntervalKind::kFixed && options.left_out.empty() && !options.from_trace;
  const CountOptions count{options.length, options.length / kReportsOfThreads, true, {}};
  run.result = counts ? ProgramRun(program, border::Mode::kCount, count).into(profiler, 64)
                      : ProgramRun(program, border::Mode::kTrace).into(profiler, 64);
  for (const std::string& warning : run.result.warnings) print_error("simrun: warning: {}\n", warning);
  run.profile = profiler.finish(run.result.totals().instructions);
  run.profile.command = fmt::format("{}", fmt::join(program.command, " "));
  return run;
}

}  // namespace simrun::cli
