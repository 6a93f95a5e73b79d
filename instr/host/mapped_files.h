// Which files a process shows in its address space.
#pragma once

#include <sys/types.h>

#include <vector>

#include "instr/border/mapped_file.h"

namespace simrun::host {

// Of a process that is stopped, ascending. Devices and numbers are what stat(2) says in the process, where that can be
// found out (an overlay's mappings show the device of the layer). Empty when the list cannot be read.
std::vector<border::MappedFile> mapped_files(pid_t pid);

}  // namespace simrun::host
