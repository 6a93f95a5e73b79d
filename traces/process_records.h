// The sections that say which processes and modules were recorded, as bytes and back. docs/trace-format.md, "Processes" and
// "Modules".
#pragma once

#include <span>
#include <vector>

#include "traces/bytes.h"
#include "traces/record.h"

namespace simrun::traces {

// `first`: the number of processes[0].
Bytes write_processes(uint32_t first, std::span<const ProcessRecord> processes);
// Appends; what is read must continue `processes`. Throws FormatError.
void read_processes(ByteReader& from, std::vector<ProcessRecord>& processes);

Bytes write_modules(std::span<const Module> modules);
void read_modules(ByteReader& from, std::vector<Module>& modules);

}  // namespace simrun::traces
