#include "cli/sub_commands.h"

#include <fmt/format.h>

#include "base/nearest_word.h"

namespace simrun::cli {

namespace {

constexpr SubCommand kSubCommands[] = {
    {"run", "Run a program and simulate (the word may be left out)", run_command, true},
    {"attach", "Simulate processes that run already, for a while", attach_command, true},
    {"record", "Record a program, or a region of it, into a trace file", record_command, true},
    {"sim", "Simulate a trace file", sim_command},
    {"info", "Say what a trace file holds", info_command},
    {"check", "Check the invariants of a trace file", check_command},
    {"view", "Show the instructions of a trace file", view_command},
    {"convert", "Convert a trace file to another simulator's format, or back", convert_command},
    {"sharing", "Run a program and show the lines that its threads fight over", sharing_command, true},
    {"bbv", "Run a program and write the basic-block vectors of its intervals", bbv_command, true},
    {"pinpoints", "Simulate a region of each phase, and say how well they stand for the whole run", pinpoints_command, true},
    {"batch", "Run each program of a suite on each of several machines", batch_command},
    {"simpoint", "Find the phases of a profile, and an interval for each", simpoint_command},
    {"config", "Check a machine and show it as a picture", config_command},
    {"completion", "Print the completion script of a shell", completion_command},
    {"help", "Print the help of simrun, or of a command", help_command},
};

}  // namespace

std::span<const SubCommand> sub_commands() { return kSubCommands; }

const SubCommand* find_sub_command(const std::string& name) {
  for (const SubCommand& command : kSubCommands)
    if (name == command.name) return &command;
  return nullptr;
}

UserError unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const SubCommand& command : kSubCommands) names.emplace_back(command.name);
  const std::string meant = nearest_word(name, names);
  return UserError(fmt::format("\"{}\": no such command or program{}\n"
                               "Commands: simrun --help. To run a program: simrun --config l3_8core.yaml -- PROGRAM ARGUMENTS...",
                               name, meant.empty() ? "" : fmt::format("; did you mean simrun {}?", meant)),
                   2);
}

}  // namespace simrun::cli
