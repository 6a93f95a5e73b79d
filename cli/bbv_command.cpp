// `simrun bbv`: one run, counted by basic block, into a file of frequency vectors.
#include <fmt/format.h>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/phases/profile_options.h"
#include "cli/phases/profile_run.h"
#include "cli/print_error.h"
#include "cli/sub_commands.h"
#include "cli/terminal_signals.h"
#include "simpoint/write_profile.h"

namespace simrun::cli {

namespace {

// `what`: why instructions are in no vector.
void report(const RunResult& result, const simpoint::Profile& profile, uint64_t intervals, const std::string& file,
            const char* what) {
  const double mips = static_cast<double>(profile.instructions) / 1e6 / result.wall_seconds;
  print_error("simrun: {}: {} interval{}, {} blocks, {} instructions", file, intervals, intervals == 1 ? "" : "s", profile.blocks.size(),
              profile.instructions);
  if (profile.left_out != 0) print_error(" ({} of them {})", profile.left_out, what);
  print_error(", {:.1f} MIPS\n", mips);
}

}  // namespace

int bbv_command(const Words& words) {
  CommandLine line(
      "simrun bbv", "simrun bbv -o FILE [OPTIONS] -- PROGRAM [ARGUMENTS...]",
      "Runs a program and writes the basic-block vectors of its intervals, for `simrun simpoint` or SimPoint\n"
      "3.2 (docs/phases.md).");
  std::string file;
  ProgramOptions program;
  ProfilerOptions options;
  line.app()
      .add_option("-o,--output", file, "Where to: .bb, .bb.gz, .bb.zst (SimPoint's text) or .h5 (HDF5)")
      ->required()
      ->type_name("FILE");
  add_profile_options(line.app(), options);
  add_program_options(line.app(), program);
  program.command = line.parse_with_program(words);
  const auto writer = simpoint::ProfileWriter::open(file);
  const auto [result, profile, intervals] =
      profile_run(program, options, [&](const auto& interval, auto entries) { writer->add(interval, entries); });
  if (!result.error.empty()) print_error("simrun: error: {}\n", result.error);
  if (intervals == 0) throw UserError(why_no_vectors(result));
  writer->finish(profile);
  if (!program.quiet)
    report(result, profile, intervals, file,
           options.left_out.empty() ? "in no vector: the end of a process cut them off" : "left out");
  if (result.signal != 0) end_by_signal(result.signal);
  return result.error.empty() ? result.exit_code : 1;
}

}  // namespace simrun::cli
