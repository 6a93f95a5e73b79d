// What a trace says of its recording besides the streams: JSON, documented in docs/trace-format.md.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/program_options.h"
#include "cli/run_result.h"

namespace simrun::cli {

// `cores`: of the machine that is simulated at the same time; 0: none.
nlohmann::ordered_json trace_information(const ProgramOptions& options, uint32_t cores);
// The variables that change what a program does, not who runs it: OMP_NUM_THREADS, LD_PRELOAD, LANG, ..., and their values.
nlohmann::ordered_json telling_environment();
nlohmann::ordered_json trace_summary(const RunResult& result);

// Puts what a summary says of the run into a result: how it ended, clocks, events.
void read_trace_summary(const nlohmann::json& information, const nlohmann::json& summary, RunResult& result);

}  // namespace simrun::cli
