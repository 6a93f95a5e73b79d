// On which core of a machine each thread of a trace runs, when the trace does not say it for this machine: as the live run puts
// them there as long as no more threads live than there are cores (instr/channel/core_schedule.h, adopt()).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "traces/reader.h"

namespace simrun::cli {

// By thread; who is not in it runs on its number modulo the cores. `summary`: of the trace, which says how long each lived.
std::map<uint32_t, uint32_t> cores_of_threads(const nlohmann::json& summary, uint32_t cores);

// Empty, or why threads are not on cores as in a live run: more of them live at a time than there are cores, and the trace is of no run on so many.
std::string cores_lacking(const traces::Reader& trace, uint32_t cores);

// How many cores the machine had that was simulated while the trace was recorded; 0: none.
uint32_t recorded_cores(const nlohmann::json& information);

}  // namespace simrun::cli
