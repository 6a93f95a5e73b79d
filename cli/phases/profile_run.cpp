#include "cli/phases/profile_run.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "cli/phases/process_origin.h"
#include "cli/print_error.h"
#include "cli/run_program.h"

namespace simrun::cli {

namespace {

// Of threads that run side by side, each reports so much more often that their intervals end near each other.
constexpr uint64_t kReportsOfThreads = 32;

// profile(profiler), with one that does what the options ask for.
template <class Profile>
void with_profiler(const ProfilerOptions& options, BlockProfiler::OnInterval on_interval, OriginOf origins, Profile profile) {
  if (options.distances) {
    DistanceProfiler profiler(options, std::move(on_interval), std::move(origins));
    profile(profiler);
  } else {
    BlockProfiler profiler(options, std::move(on_interval), std::move(origins));
    profile(profiler);
  }
}

BlockProfiler::OnInterval counted(ProfiledRun& run, const BlockProfiler::OnInterval& on_interval) {
  return [&](const simpoint::Interval& interval, std::span<const simpoint::Entry> entries) {
    on_interval(interval, entries);
    ++run.intervals;
  };
}

std::string what_ended(const RunResult& result) {
  if (!result.error.empty()) return fmt::format("an error ({})", result.error);
  return result.signal != 0 ? fmt::format("signal {}", result.signal) : "";
}

// As they were when it was recorded.
std::vector<simpoint::ProfiledModule> modules_of(const traces::Reader& trace, const simpoint::Profile& profile) {
  std::set<std::string> executed;
  for (const simpoint::Block& block : profile.blocks) executed.insert(block.place.module);
  std::map<std::string, std::string> ids;
  for (const traces::Module& module : trace.modules())
    if (!module.build_id.empty() && executed.contains(module.path)) ids.emplace(module.path, module.build_id);
  std::vector<simpoint::ProfiledModule> made;
  for (const auto& [path, id] : ids) made.push_back({path, id});
  return made;
}

void finish_profile(ProfiledRun& run, BlockProfiler& profiler, const std::vector<std::string>& command) {
  for (const std::string& warning : run.result.warnings) print_error("simrun: warning: {}\n", warning);
  for (const std::string& pattern : profiler.left_out_nothing())
    print_error("simrun: warning: --leave-out {}: no such code was executed\n", pattern);
  run.profile = profiler.finish(run.result.totals().instructions);
  if (run.profile.kind == simpoint::IntervalKind::kBarrier && run.intervals == 1)
    print_error("simrun: warning: no barrier was passed (of OpenMP, or pthread_barrier_wait): the whole run is one interval\n");
  run.profile.ended_by = what_ended(run.result);
  run.profile.command = fmt::format("{}", fmt::join(command, " "));
}

}  // namespace

std::string why_no_vectors(const RunResult& result) {
  if (result.signal == 0) return "the program executed nothing that is counted: no vectors";
  return fmt::format("signal {} ended the program within its first interval, and what was counted by then was lost with it: no vectors; take a "
                     "smaller --interval, or --exact-order", result.signal);
}

ProfiledRun profile_run(ProgramOptions program, const ProfilerOptions& options,
                        const BlockProfiler::OnInterval& on_interval) {
  program.watch_mappings = true;
  ProfiledRun run;
  const bool counts = options.kind == simpoint::IntervalKind::kFixed && options.left_out.empty() && !options.from_trace && !options.distances;
  const CountOptions count{options.length, options.length / kReportsOfThreads, true, {}};
  ProgramRun execution(program, counts ? border::Mode::kCount : border::Mode::kTrace, counts ? count : CountOptions{});
  with_profiler(options, counted(run, on_interval), origins_in(execution.family()), [&](auto& profiler) {
    run.result = execution.into(profiler, 64);
    finish_profile(run, profiler, program.command);
  });
  return run;
}

ProfiledRun profile_recorded(RecordedRun& recorded, const ProfilerOptions& options, bool quiet,
                             const BlockProfiler::OnInterval& on_interval) {
  ProfiledRun run;
  with_profiler(options, counted(run, on_interval), recorded.origins(), [&](auto& profiler) {
    run.result = recorded.into(profiler, 64, 0, quiet);
    finish_profile(run, profiler, recorded.command());
    run.profile.modules = modules_of(recorded.trace(), run.profile);
  });
  return run;
}

}  // namespace simrun::cli
