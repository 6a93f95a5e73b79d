// `simrun sharing`: run a program through a model that keeps details, and show the lines that its threads fight over.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "analysis/sharing/sharing_report.h"
#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/machine_options.h"
#include "cli/output_file.h"
#include "cli/print_error.h"
#include "cli/program_options.h"
#include "cli/report.h"
#include "cli/run_program.h"
#include "cli/run_window.h"
#include "cli/sharing_json.h"
#include "cli/sharing_sink.h"
#include "cli/sub_commands.h"
#include "cli/terminal_signals.h"
#include "configs/read_machine.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

namespace {

struct SharingOptions {
  ProgramOptions program;
  RegionOptions region;
  std::string config, json_file;
  size_t top = 10;
  uint64_t least_misses = analysis::kWorthALook;   // of a line that is shown; all when --top is given
};

SharingOptions parse_sharing(const Words& words) {
  SharingOptions o;
  CommandLine line(
      "simrun sharing", "simrun sharing --config MACHINE [OPTIONS] -- PROGRAM [ARGUMENTS...]",
      "Shows the cache lines that cost most coherence misses: false or true sharing, who reads and writes\n"
      "which bytes of what, from which source lines, and what to change. Compile the program with -g.\n"
      "docs/sharing.md explains the table.");
  add_machine_option(line.app(), o.config, "Machine to simulate, as for simrun run")->required();
  line.app()
      .add_option("-n,--top", o.top, "Lines to show; given, also those with fewer than 10 misses")
      ->transform(whole_number(0, 1u << 20))
      ->type_name("N")
      ->capture_default_str();
  line.app().add_option("-j,--json", o.json_file, "Write the table as JSON (docs/sharing.md)")->type_name("FILE");
  std::string region;
  add_region_options(line.app(), o.region, region, "");
  // Finer than for totals: two threads that write to one line in turn are what this is about.
  o.program.quantum = 100;
  add_program_options(line.app(), o.program);
  add_order_options(line.app(), o.program);
  o.program.command = line.parse_with_program(words);
  check_region_options(line, o.region, region);
  if (line.app()["--top"]->count() != 0) o.least_misses = 0;
  o.program.watch_calls = true;
  o.program.watch_mappings = o.region.any();
  return o;
}

std::string text_report(const RunResult& r, const analysis::SharingReport& report, uint64_t least_misses) {
  std::string text = fmt::format("\n== simrun sharing: {} (status {})\n", fmt::join(r.command, " "), r.shell_status());
  if (!r.error.empty()) text += fmt::format("   NOT COMPLETE: {}\n", r.error);
  text += region_line(r);
  text += fmt::format("   machine {}: {} core{}; {} thread{}, {} instructions; {:.3f} s\n", r.machine->name, r.machine->cores,
                      r.machine->cores == 1 ? "" : "s", r.threads.size(), r.threads.size() == 1 ? "" : "s", grouped(r.totals().instructions), r.wall_seconds);
  return text + analysis::text_of(report, least_misses);
}

// Why a program of several threads could not have a coherence miss; empty: it could.
std::string why_nothing_is_shared(const RunResult& r) {
  if (r.threads.size() < 2) return "";
  if (r.machine->coherence == sim::Coherence::kNone)
    return fmt::format("the caches of machine {} are not kept coherent: no line is lost to another core", r.machine->name);
  const uint32_t core = r.threads.front().core;
  const bool on_one = std::all_of(r.threads.begin(), r.threads.end(), [&](const auto& t) { return t.core == core && t.migrations == 0; });
  if (!on_one) return "";
  return fmt::format("all threads ran on one core, and lose no line to each other: {}",
                     r.machine->cores == 1 ? fmt::format("machine {} has no other (-c l3_8core has eight)", r.machine->name) : "see --pin");
}

}  // namespace

int sharing_command(const Words& words) {
  const SharingOptions options = parse_sharing(words);
  sim::MachineConfig machine = configs::read_machine(options.config);
  check_pins(options.program, machine.cores);
  sim::Hierarchy model(machine);
  refuse_same_file({program_itself(options.program.command), {"--json", options.json_file}});
  std::optional<OutputFile> json;
  if (!options.json_file.empty()) json.emplace(options.json_file);
  ProgramRun program(options.program, border::Mode::kTrace);
  SharingSink sink(model, program.family());
  RunWindow window(options.region, 0, program.family());
  WindowSink<SharingSink> in_window(sink, window);
  RunResult result = program.into(in_window, model.line_bytes(), model.cores());
  in_window.finish();
  window.finish(result, model.cores());
  result.machine = std::move(machine);
  if (std::string why = why_nothing_is_shared(result); !why.empty()) result.warnings.push_back(std::move(why));
  const analysis::SharingReport report =
      analysis::make_report(sink.shared_lines(), model.line_bytes(), options.top);
  const auto write = [&] {
    if (json) json->commit(sharing_json(result, report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  };
  const auto print = [&] {
    for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
    if (!result.error.empty()) print_error("simrun: error: {}\n", result.error);
    if (!options.program.quiet) print_error("{}", text_report(result, report, options.least_misses));
    std::fflush(stderr);
  };
  write_then_print(write, print);
  if (result.signal != 0) end_by_signal(result.signal);
  return result.error.empty() ? result.exit_code : 1;
}

}  // namespace simrun::cli
