// `simrun config FILE`.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/sub_commands.h"
#include "configs/read_machine.h"

namespace simrun::cli {

int config_command(const Words& words) {
  CommandLine line("simrun config", "simrun config FILE",
                   "Reads a machine, checks it, and prints it with every key resolved.");
  std::string file;
  line.app().add_option("FILE", file, "A YAML file, or the name of a machine that comes with simrun")->required();
  line.parse(words);
  fmt::print("{}\n", configs::to_json(configs::read_machine(file)).dump(2));
  return 0;
}

}  // namespace simrun::cli
