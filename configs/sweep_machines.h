// Machines that are simulated over one run: machine files, with some keys changed, every combination of the values given.
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

// `configs`: paths or bare names; when there are several, the first of a machine's settings is its "config". They agree in cores and
// line size. `sweeps`: "KEY=VALUE,VALUE,..."; KEY is one of the machine ("coherence", "memory.latency", "core.cpi") or begins with
// the name of a level ("L2.size", "L1.data.ways"), once, and has a single value, no list. Throws UserError with exit status 2: what is
// wrong with the key, or with the machine that comes out.
std::vector<SweptMachine> sweep_machines(const std::vector<std::string>& configs, const std::vector<std::string>& sweeps);

}  // namespace simrun::configs
