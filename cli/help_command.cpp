// `simrun help [COMMAND]`: what `simrun COMMAND --help` prints.
#include <algorithm>

#include "cli/command_line.h"
#include "cli/sub_commands.h"

namespace simrun::cli {

int help_command(const Words& words) {
  CommandLine line("simrun help", "simrun help [COMMAND]", "Prints the help of simrun, or of a command.");
  std::vector<std::string> names;
  for (const SubCommand& command : sub_commands()) names.emplace_back(command.name);
  std::string name = "run";
  line.app().add_option("COMMAND", name, "Which")->type_name(alternatives(names));
  line.parse(words);
  const SubCommand* command = find_sub_command(name);
  if (command == nullptr) throw unknown_command(name);
  return command->run({"--help"});
}

}  // namespace simrun::cli
