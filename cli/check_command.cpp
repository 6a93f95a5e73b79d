// `simrun check`: are the invariants of a trace kept?
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/print_error.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/sub_commands.h"
#include "traces/check/check_trace.h"

namespace simrun::cli {

int check_command(const Words& words) {
  CommandLine line("simrun check", "simrun check FILE",
                   "Reads a whole trace and checks that it can be true: control flow continues, branches go to their\n"
                   "targets, addresses are plausible, counts equal what the file says of itself. Exit status 1 if not, or\n"
                   "if the recording was not completed.");
  std::string file;
  bool quiet = false;
  line.app().add_option("FILE", file, "A trace of simrun record")->required()->type_name("FILE");
  line.app().add_flag("-q,--quiet", quiet, "Violations only");
  line.parse(words);

  const traces::Reader trace(file);
  Progress progress(!quiet);
  const traces::CheckReport report = traces::check_trace(trace, [&](uint64_t instructions) {
    if (progress.due()) progress.show(instructions, 0, 0, trace.instructions());
  });
  progress.clear();
  const bool complete = trace.incomplete().empty();
  if (!complete) print_error("simrun: error: {}: {}\n", file, trace.incomplete());
  for (const std::string& violation : report.violations) fmt::print("{}: {}\n", file, violation);
  if (report.violation_count > report.violations.size())
    fmt::print("{}: and {} more\n", file, report.violation_count - report.violations.size());
  if (!quiet)
    fmt::print("{}: {} instructions, {} references, {} transitions checked ({} free): {}\n", file,
               grouped(report.instructions), grouped(report.references), grouped(report.transitions),
               grouped(report.free_transitions),
               report.violation_count != 0 ? fmt::format("{} violations", report.violation_count)
               : complete                  ? "no violation"
                                           : "no violation in what is there");
  return complete && report.violation_count == 0 ? 0 : 1;
}

}  // namespace simrun::cli
