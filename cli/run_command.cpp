// `simrun run`: launch, simulate, report, and end as the program ended.
#include <fmt/format.h>

#include <cstdio>

#include "cli/print_error.h"
#include "cli/report.h"
#include "cli/result_files.h"
#include "cli/run_options.h"
#include "cli/run_program.h"
#include "cli/run_window.h"
#include "cli/simulate.h"
#include "cli/sub_commands.h"
#include "cli/terminal_signals.h"
#include "instr/channel/counting_sink.h"

namespace simrun::cli {

namespace {

RunResult count(const RunOptions& options) {
  ProgramOptions program = options.program;
  program.watch_mappings = options.region.any();
  ProgramRun run(program, border::Mode::kTrace);
  channel::CountingSink sink;
  RunWindow window(options.region, 0, run.family());
  WindowSink<channel::CountingSink> in_window(sink, window);
  RunResult result = run.into(in_window, channel::MergeOptions{}.line_bytes);
  window.finish(result, 0);
  return result;
}

RunResult count_instructions(const RunOptions& options) {
  channel::CountingSink sink;
  return ProgramRun(options.program, border::Mode::kCount).into(sink, channel::MergeOptions{}.line_bytes);
}

RunResult run(const RunOptions& options) {
  if (options.mode == RunMode::kCount) return count_instructions(options);
  if (options.mode == RunMode::kSim) return simulate(options);
  if (options.mode == RunMode::kTrace && !options.program.discard) return count(options);
  const auto mode = options.mode == RunMode::kNull ? border::Mode::kNull : border::Mode::kTrace;
  return ProgramRun(options.program, mode).discarding();
}

void report(const RunOptions& options, const RunResult& result) {
  for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
  if (!result.error.empty()) print_error("simrun: error: {}\n", result.error);
  if (!options.program.quiet || result.show_engine)
    print_error("{}", options.program.quiet ? engine_report(result) : text_report(result));
  std::fflush(stderr);
}

}  // namespace

int run_and_report(const RunOptions& options) {
  std::vector<NamedFile> others = {program_itself(options.program.command), {"--memory-trace", options.memory_trace.file}};
  for (const std::string& config : options.machines.configs) others.push_back({"--config", config});
  ResultFiles files(options.results, std::move(others));
  RunResult result = run(options);
  result.mode = options.mode;
  result.show_engine = options.engine_statistics;
  write_then_print([&] { files.commit(result); }, [&] { report(options, result); });
  if (result.signal != 0) end_by_signal(result.signal);
  return result.error.empty() ? result.exit_code : 1;
}

int run_command(const std::vector<std::string>& words) { return run_and_report(parse_run_options(words)); }

}  // namespace simrun::cli
