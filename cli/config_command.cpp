// `simrun config`: what a machine file says.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/sub_commands.h"
#include "configs/describe_machine.h"
#include "configs/machine_schema.h"
#include "configs/read_machine.h"

namespace simrun::cli {

int config_command(const Words& words) {
  CommandLine line("simrun config", "simrun config [--json] MACHINE\n       simrun config --schema",
                   "Reads a machine, checks it, and prints a picture of it.");
  std::string file;
  bool json = false, schema = false;
  line.app().add_option("MACHINE", file,
                        "A YAML file, the name of a machine that comes with simrun, or host: the machine that this "
                        "runs on")
      ->type_name("MACHINE");
  line.app().add_flag("--json", json, "Print every key with its value instead: a valid machine file");
  line.app().add_flag("--schema", schema, "Print the JSON Schema of machine files, for editors");
  line.parse(words);
  if (schema) {
    fmt::print("{}\n", configs::machine_schema().dump(2));
    return 0;
  }
  if (file.empty()) line.usage_error("which machine? simrun config l3_8core");
  const sim::MachineConfig machine = configs::read_machine(file);
  fmt::print("{}", json ? configs::to_json(machine).dump(2) + "\n" : configs::picture_of(machine));
  return 0;
}

}  // namespace simrun::cli
