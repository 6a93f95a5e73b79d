#include "cli/machine_options.h"

#include <CLI/CLI.hpp>

namespace simrun::cli {

namespace {

template <class Names>
CLI::Option* add_config(CLI::App& app, Names& names, const std::string& text) {
  return app.add_option("-c,--config", names, text)->type_name("MACHINE");
}

}  // namespace

CLI::Option* add_machine_option(CLI::App& app, std::string& machine, const std::string& text) { return add_config(app, machine, text); }

CLI::Option* add_machine_options(CLI::App& app, MachineOptions& machines, const std::string& text, const std::string& group) {
  CLI::Option* const config = add_config(app, machines.configs, text + "; again, for another machine with as many cores: all in one run")->allow_extra_args(false);
  app.add_option("--sweep", machines.sweeps,
                 "Simulate a machine for each value of a key, all in one run: L2.size=256KiB,512KiB. Repeat it with another key for all\n"
                 "combinations. For keys whose values are lists (prefetch) give several --config")
      ->allow_extra_args(false)
      ->type_name("KEY=V1,V2,...")
      ->group(group);
  return config;
}

}  // namespace simrun::cli
