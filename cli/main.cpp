// simrun: the command. Every error that is the user's or the environment's ends here as one message and an exit status.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/completion.h"
#include "cli/print_error.h"
#include "cli/run_command.h"
#include "configs/read_machine.h"
#include "instr/channel/stream_error.h"

namespace simrun::cli {
namespace {

// Installed: machines are in ../share/simrun beside the executable. Else the source tree's, which configs knows.
void find_machines() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const auto installed = self.parent_path().parent_path() / "share/simrun/machines";
  if (std::filesystem::is_directory(installed, error)) configs::set_machines_directory(installed);
}

int print(const std::string& text) {
  fmt::print("{}", text);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const CommandLine line = parse_command_line(arguments);
  find_machines();
  switch (line.command) {
    case Command::kText:
      return print(line.argument);
    case Command::kConfig:
      return print(configs::to_json(configs::read_machine(line.argument)).dump(2) + "\n");
    case Command::kCompletion:
      return print(completion_script(line.argument));
    case Command::kRun:
      return run_command(line.run);
  }
  return 1;
}

}  // namespace
}  // namespace simrun::cli

int main(int argc, char** argv) {
  try {
    return simrun::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const simrun::UserError& error) {
    simrun::cli::print_error("simrun: {}\n", error.what());
    return error.exit_status;
  } catch (const std::exception& error) {
    simrun::cli::print_error("simrun: {}\n", error.what());
    return 1;
  }
}
