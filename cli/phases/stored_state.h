// The contents of a machine's caches in a file, to begin a simulation with: for the same machine and the same version
// of simrun only, which the file says and its reader checks.
//
// Layout: "SSTATE1\n", u64 bytes of the header, the header (JSON: simrun, layout, machine), one zstd
// frame (sim/state_archive.h).
#pragma once

#include <string>

#include "sim/hierarchy.h"

namespace simrun::cli {

// Throws UserError.
void write_state(const std::string& path, const sim::Hierarchy& model);
// Into a model that had no access yet. Throws UserError: not there, damaged, or of another machine or version.
void read_state(const std::string& path, sim::Hierarchy& model);
// read_state() would take it, as far as its header says.
bool is_state_of(const std::string& path, const sim::MachineConfig& machine);

}  // namespace simrun::cli
