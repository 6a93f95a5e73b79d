// Which machines a run is simulated on: --config, which may be given several times, and --sweep.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace simrun::cli {

struct MachineOptions {
  std::vector<std::string> configs;  // paths or bare names
  std::vector<std::string> sweeps;   // KEY=VALUE,VALUE,...

  bool are_many() const { return configs.size() > 1 || !sweeps.empty(); }
};

// --config of a command that simulates one machine.
CLI::Option* add_machine_option(CLI::App& app, std::string& machine, const std::string& text);
// Both options, of one that can simulate many over one run. Returns --config. `group`: of --sweep in the help.
CLI::Option* add_machine_options(CLI::App& app, MachineOptions& machines, const std::string& text, const std::string& group);

}  // namespace simrun::cli
