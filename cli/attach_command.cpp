// `simrun attach`: take over running processes, simulate for a while, and let them go.
#include <algorithm>

#include "cli/command_line.h"
#include "cli/run_options.h"
#include "cli/sub_commands.h"

namespace simrun::cli {

namespace {

constexpr uint64_t kLargestProcessId = uint64_t{1} << 22;  // include/linux/threads.h: PID_MAX_LIMIT

void add_limits(CLI::App& app, AttachOptions& o) {
  app.add_option("--for", o.seconds, "Detach after this time: 500ms, 10s, 5m (by default: at Ctrl-C, or when they end)")
      ->transform(duration())
      ->type_name("TIME");
  app.add_option("--instructions", o.instructions, "Detach when they have executed so many instructions since, or some more (docs/attach.md says how many)")
      ->transform(instruction_count(1))
      ->type_name("N");
}

}  // namespace

int attach_command(const Words& words) {
  RunOptions o;
  RunTexts texts;
  CommandLine line("simrun attach", "simrun attach [OPTIONS] PID...",
                   "Takes over every thread of running processes where it is, simulates them, and then lets them go on\n"
                   "natively: after --for or --instructions, or at Ctrl-C. Their children are followed too. docs/attach.md\n"
                   "says what it needs and what the processes can notice.");
  line.app()
      .add_option("PID", o.program.attach.processes, "Processes")
      ->required()
      ->transform(whole_number(1, kLargestProcessId))
      ->type_name("PID");
  add_limits(line.app(), o.program.attach);
  add_run_options(line.app(), o, texts);
  line.app().remove_option(line.app().get_option("--stop"));  // processes that are attached to are let go: --for, --instructions
  line.parse(words);
  check_run_options(line, o, texts, "simrun attach --config l3_8core.yaml " + std::to_string(o.program.attach.processes[0]));
  if (o.program.attach.instructions != 0 && (o.mode == RunMode::kNull || o.program.discard))
    line.usage_error("--instructions: nobody counts them with --mode null or --discard");
  for (const int pid : o.program.attach.processes)
    if (std::ranges::count(o.program.attach.processes, pid) > 1) line.usage_error(std::to_string(pid) + " is given twice");
  for (const int pid : o.program.attach.processes) o.program.command.push_back(std::to_string(pid));
  o.program.command.insert(o.program.command.begin(), "attach");
  return run_and_report(o);
}

}  // namespace simrun::cli
