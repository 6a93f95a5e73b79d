// `simrun run`: launch, simulate, report, and end as the program ended.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "cli/json_report.h"
#include "cli/model_sink.h"
#include "cli/output_file.h"
#include "cli/print_error.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "cli/run_program.h"
#include "cli/sub_commands.h"
#include "cli/terminal_signals.h"
#include "configs/read_machine.h"
#include "instr/channel/counting_sink.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

namespace {

RunResult simulate(const RunOptions& options) {
  sim::MachineConfig machine = configs::read_machine(options.config);
  sim::Hierarchy model(machine);
  ProgramRun run(options.program, border::Mode::kTrace);
  const auto into = [&](auto sink) { return run.into(sink, model.line_bytes()); };
  RunResult result = model.wants_pc() ? into(PcModelSink(model)) : into(ModelSink(model));
  result.machine = std::move(machine);
  result.caches = model.statistics();
  return result;
}

RunResult count(const RunOptions& options) {
  channel::CountingSink sink;
  return ProgramRun(options.program, border::Mode::kTrace).into(sink, channel::MergeOptions{}.line_bytes);
}

RunResult count_instructions(const RunOptions& options) {
  channel::CountingSink sink;
  return ProgramRun(options.program, border::Mode::kCount).into(sink, channel::MergeOptions{}.line_bytes);
}

RunResult run(const RunOptions& options) {
  if (options.mode == RunMode::kCount) return count_instructions(options);
  if (options.mode == RunMode::kSim) return simulate(options);
  if (options.mode == RunMode::kTrace && !options.discard) return count(options);
  const auto mode = options.mode == RunMode::kNull ? border::Mode::kNull : border::Mode::kTrace;
  return ProgramRun(options.program, mode).discarding();
}

void report(const RunOptions& options, const RunResult& result, OutputFile* json) {
  for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
  if (!result.error.empty()) print_error("simrun: error: {}\n", result.error);
  if (!options.program.quiet || result.show_engine)
    print_error("{}", options.program.quiet ? engine_report(result) : text_report(result));
  std::fflush(stderr);
  if (json != nullptr) json->commit(json_report(result).dump(2) + "\n");
}

}  // namespace

int run_command(const std::vector<std::string>& words) {
  const RunOptions options = parse_run_options(words);
  std::optional<OutputFile> json;
  if (!options.json_file.empty()) json.emplace(options.json_file);
  RunResult result = run(options);
  result.mode = options.mode;
  result.show_engine = options.engine_statistics;
  report(options, result, json ? &*json : nullptr);
  if (result.signal != 0) end_by_signal(result.signal);
  return result.error.empty() ? result.exit_code : 1;
}

}  // namespace simrun::cli
