// Machines of a sweep: one machine file with some keys changed, every combination of the values given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/build/machine_config.h"

namespace simrun::configs {

struct SweptMachine {
  std::vector<std::pair<std::string, std::string>> settings;  // key, value
  sim::MachineConfig machine;
};

// `sweeps`: "KEY=VALUE,VALUE,..."; KEY is one of the machine ("coherence", "memory.latency", "core.cpi") or begins with
// the name of a level ("L2.size", "L1.data.ways"), once, and has a single value, no list. Throws UserError with exit status 2: what is wrong with the key, or
// with the machine that comes out.
std::vector<SweptMachine> sweep_machines(const std::string& path_or_bare_name, const std::vector<std::string>& sweeps);

}  // namespace simrun::configs
