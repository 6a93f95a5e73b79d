// What a process shows in its address space, and which files.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/process_maps.h"
#include "instr/border/mapped_file.h"

namespace simrun::host {

// All of /proc/PID/maps. Throws UserError, which says why it cannot be read.
std::vector<MapsEntry> read_process_maps(pid_t pid);

// Of a process that is stopped, ascending. Devices and numbers are what stat(2) says in the process, where that can be
// found out (an overlay's mappings show the device of the layer). Throws UserError.
std::vector<border::MappedFile> mapped_files(pid_t pid);

}  // namespace simrun::host
