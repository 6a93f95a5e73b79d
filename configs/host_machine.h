// The machine that simrun runs on, as far as the kernel knows it.
#pragma once

#include <string>

#include "sim/build/machine_config.h"

namespace simrun::configs {

inline constexpr const char* kCpuDirectory = "/sys/devices/system/cpu";

// From the kernel's description of the caches (Documentation/ABI/testing/sysfs-devices-system-cpu). A core is the
// processors that share a level 1 (threads of one physical core): thread i of a program is on core i, and would else
// begin with its siblings. Cores that are not alike are all taken to be as that of the first processor; `warning`
// and the description say so. What is not there is the default of a machine file: latencies 0, policies. Throws UserError
// when caches are not described, or in a way that no machine file can say.
sim::MachineConfig read_host_machine(const std::string& cpu_directory = kCpuDirectory,
                                     std::string* warning = nullptr);

}  // namespace simrun::configs
