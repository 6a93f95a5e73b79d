// The contents of a machine's caches in a file, to begin a simulation with: for the same machine and the same version
// of simrun only, which the file says and its reader checks.
//
// Layout: "SSTATE1\n", u64 bytes of the header, the header (JSON: simrun, layout, machine, of a region also its interval and
// command), one zstd frame (sim/state_archive.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/hierarchy.h"
#include "traces/reader.h"

namespace simrun::cli {

// `region`: null, or `interval` and `command` of what comes next. Throws UserError.
void write_state(const std::string& path, const sim::Hierarchy& model, const nlohmann::json& region = nullptr);
// Into a model that had no access yet. Throws UserError: not there, damaged, or of another machine or version.
void read_state(const std::string& path, sim::Hierarchy& model);
// Throws UserError: `trace` is that of another region, or another program's.
void require_state_of_region(const std::string& path, const traces::Reader& trace);
// read_state() would take it, as far as its header says.
bool is_state_of(const std::string& path, const sim::MachineConfig& machine);

}  // namespace simrun::cli
