// `simrun pinpoints`: the options; the work is in phases/pinpoints.h.
#include <algorithm>

#include "cli/command_line.h"
#include "cli/machine_options.h"
#include "cli/phases/pinpoints.h"
#include "cli/phases/profile_options.h"
#include "cli/sub_commands.h"
#include "traces/export/formats.h"

namespace simrun::cli {

namespace {

bool asks_for_trace(const Words& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end,
                     [](const std::string& word) { return word == "--trace" || word.starts_with("--trace="); });
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& format : traces::export_formats()) names.emplace_back(format.name);
  return names;
}

PinPointsOptions parse_pinpoints(const Words& words) {
  CommandLine line(
      "simrun pinpoints",
      "simrun pinpoints --config MACHINE -o DIR [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
      "       simrun pinpoints --config MACHINE -o DIR [OPTIONS] --trace FILE",
      "Runs a program once to find its phases, and again to simulate only a region of each, with a warm-up. With\n"
      "--validate a third time to simulate all of it, and says how far the regions are off (docs/phases.md). The\n"
      "program must do the same each time; one that does not, as many with threads, is recorded once (--record).\n"
      "A repeated call with the same words goes on where an earlier one ended.");
  PinPointsOptions o;
  CLI::App& app = line.app();
  add_machine_option(app, o.config, "Machine to simulate: a YAML file, or the name of one that comes with simrun")
      ->required();
  app.add_option("-o,--output", o.folder, "Folder for all that is found out; made if need be")
      ->required()
      ->type_name("DIR");
  app.add_option("--warm-up", o.warm_up,
                 "Instructions simulated before each region, rounded up to intervals (default: 1000 for each line of the last\n"
                 "level, at most a fifth of the run in all, at least 5 intervals)")
      ->transform(instruction_count())
      ->type_name("N");
  app.add_option("--trace", o.trace,
                 "A trace of simrun record instead of a program: nothing is run, the regions are cut from it")
      ->check(CLI::ExistingFile.description(""))
      ->type_name("FILE");
  app.add_flag("--record", o.record,
               "Run the program once only, into a trace (DIR/run.trace, as of simrun record), and do all from that");
  app.add_flag("--validate", o.validate,
               "Also simulate the whole run, and show the errors of what the regions predict");
  app.add_flag("--snapshots", o.states,
               "Also store what the caches hold at the start of each region (DIR/regions/*.state), out of a simulation of\n"
               "the whole run: simrun sim --state goes on from there without a warm-up. Implies --validate");
  app.add_option("--max-error", o.max_error, "With --validate: fail when a figure (CPI, an MPKI, memory reads, loads, stores) is off by more than this; of an MPKI below 1, in parts of 1")
      ->transform(positive_number())
      ->type_name("PERCENT");
  app.add_flag("--traces", o.traces, "A trace of each region with its warm-up in DIR/regions (default)");
  app.add_flag_callback(
      "--no-traces", [&o] { o.traces = false; }, "None");
  app.add_option("--to", o.to, "Also write the traces in another simulator's format, into DIR/FORMAT (simrun convert --help names them).\nAgain for another")
      ->transform(one_of(format_names(), ChoiceBecomes::kWord))
      ->type_name("FORMAT")
      ->allow_extra_args(false);
  app.add_option("--simpoints", o.simpoints, "Points that were chosen otherwise, as files of SimPoint's (numbers of intervals of --interval), instead of the analysis")
      ->check(CLI::ExistingFile.description(""))
      ->type_name("FILE");
  app.add_option("--weights", o.weights, "Their weights")->check(CLI::ExistingFile.description(""))->type_name("FILE");
  app.add_flag("--restart", o.restart, "Forget what an earlier call left in DIR");
  add_profile_options(app, o.profile);
  add_analysis_options(app, o.analysis);
  const size_t others = app.get_options().size();
  add_program_options(app, o.program);
  if (asks_for_trace(words)) {
    if (std::find(words.begin(), words.end(), "--") != words.end()) line.usage_error("--trace is instead of a program: one of the two");
    line.parse(words);
    if (o.record) line.usage_error("--record is for a program that runs: not with --trace");
    const std::vector<CLI::Option*> options = app.get_options();
    for (size_t i = others; i < options.size(); ++i)
      if (options[i]->count() != 0 && options[i]->get_name() != "--quiet") line.usage_error(options[i]->get_name() + " is for a program that runs: not with --trace");
  } else {
    o.program.command = line.parse_with_program(words);
  }
  o.validate |= o.states;
  if (o.states && !o.traces) line.usage_error("--snapshots are for the traces of regions: not with --no-traces");
  if (!o.to.empty() && !o.traces) line.usage_error("--to is for the traces of regions: not with --no-traces");
  if (o.simpoints.empty() != o.weights.empty()) line.usage_error("--simpoints and --weights go together");
  if (o.max_error != 0 && !o.validate) line.usage_error("--max-error goes with --validate");
  o.program.watch_mappings = true;
  return o;
}

}  // namespace

int pinpoints_command(const Words& words) { return PinPoints(parse_pinpoints(words)).run(); }

}  // namespace simrun::cli
