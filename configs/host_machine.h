// The machine that simrun runs on, as far as the kernel knows it.
#pragma once

#include <string>

#include "sim/build/machine_config.h"

namespace simrun::configs {

// From the kernel's description of the caches (Documentation/ABI/testing/sysfs-devices-system-cpu). Each processor that
// the kernel numbers is a core: two threads of one physical core are two cores that share a level 1. What is not there
// is the default of a machine file: latencies 0, policies. Throws UserError when caches are not described, or in a way
// that no machine file can say.
sim::MachineConfig read_host_machine(const std::string& cpu_directory = "/sys/devices/system/cpu");

}  // namespace simrun::configs
