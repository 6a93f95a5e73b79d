// Whether a machine can be simulated. Kept apart from the YAML reader so that a machine built in code meets the same
// rules.
#pragma once

#include <optional>
#include <string>

#include "sim/build/machine_config.h"

namespace simrun::sim {

// The first thing that is wrong. `level`, `part` and `key` say where, in the words of configs/README.md, so that the
// reader can add the position in the file.
struct MachineProblem {
  int level;            // index into levels; -1: a key of the machine itself
  std::string part;     // "instruction", "data", or empty
  std::string key;      // "size", "ways", "shared_by", "line", "cores", "name", "levels"
  std::string message;  // names the numbers and the reason
};

std::optional<MachineProblem> find_problem(const MachineConfig& config);

// "32 KiB", "1.5 MiB", "100 bytes"
std::string format_size(uint64_t bytes);

}  // namespace simrun::sim
