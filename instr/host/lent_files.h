// The engine's loader opens the engine and its libraries by their paths. A process in another root or mount namespace, or of a user who may
// not read them, cannot: it gets copies, in memory files.
#pragma once

#include <cstdint>
#include <string>

#include "instr/border/shared_memory.h"
#include "instr/host/remote_process.h"

namespace simrun::host {

// `path` opened in the process; negative when that is not the file that has this path here. `scratch`: a page of the process to write to.
int64_t open_same(RemoteProcess& process, const std::string& path, uint64_t scratch);

// A descriptor, in the process, of a memory file with the contents of the file that has this path here. Throws UserError.
uint64_t lend_file(RemoteProcess& process, const std::string& path, uint64_t scratch);

// To be called after prepare_start, instead of letting the process run: answers what the loader and the starting engine ask of the file
// system, until `header` says that the engine runs. Paths are those here, but for the process's own files of /proc. Throws UserError.
void lend_files(RemoteProcess& process, const border::ProcessHeader& header, uint64_t scratch);

}  // namespace simrun::host
