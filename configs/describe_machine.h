// A machine as a picture in text, for people.
#pragma once

#include <string>

#include "sim/build/machine_config.h"

namespace simrun::configs {

// Cores at the top, memory at the bottom, each cache a box as wide as the cores that share it; of more than 8 cores
// some are left out. Below, one row for each level with all of its values. At most 100 columns, ends in a newline.
std::string picture_of(const sim::MachineConfig& machine);

}  // namespace simrun::configs
