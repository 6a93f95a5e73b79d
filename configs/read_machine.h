// Machines from YAML files. configs/README.md documents the keys; reading is strict: what is not understood is an error
// that says where (file:line:column) and what to write instead.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/build/machine_config.h"

namespace simrun::configs {

// Reads a machine. `path_or_bare_name` is a path, or a name without '/' (with or without ".yaml") that is looked for in
// the working directory, then in the directories of SIMRUN_CONFIG_PATH (separated by ':'), then in the machines
// directory; `host` is the machine that this runs on (host_machine.h). Throws UserError with exit status 2.
sim::MachineConfig read_machine(const std::string& path_or_bare_name);

// Reads a machine from text; `file` is the name for messages.
sim::MachineConfig parse_machine(const std::string& text, const std::string& file);

// The file that read_machine() would read. Throws UserError.
std::string find_machine(const std::string& path_or_bare_name);

// The machines that a bare name means, but for those in the working directory and `host`: sorted.
std::vector<std::string> machine_names();

// Where the machines that come with simrun are; by default the source tree's configs/machines.
void set_machines_directory(const std::string& directory);

// Where to say what is not as it should be of a machine that can be simulated all the same; by default nowhere.
void set_warning_writer(std::function<void(const std::string&)> writer);

// The resolved machine: every key with its value, defaults included; sizes in bytes, latencies in cycles. It is also a
// valid machine file (JSON is YAML) that reads as an equal machine.
nlohmann::json to_json(const sim::MachineConfig& machine);

}  // namespace simrun::configs
