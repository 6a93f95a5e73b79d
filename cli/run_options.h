// The command line of `simrun run`, as plain values.
#pragma once

#include <string>
#include <vector>

#include "cli/machine_options.h"
#include "cli/memory_trace_options.h"
#include "cli/program_options.h"
#include "cli/region_options.h"
#include "cli/result_file_names.h"

namespace CLI {
class App;
}

namespace simrun::cli {

class CommandLine;

enum class RunMode {
  kNull,   // translation only: nothing is traced
  kCount,  // instructions retired by each thread, and nothing else
  kTrace,  // the full stream is made, put in order and counted; no cache model
  kSim,    // the cache model
};

struct RunOptions {
  ProgramOptions program;
  RunMode mode = RunMode::kSim;
  MachineOptions machines;  // needed by kSim
  ResultFileNames results;
  std::string miss_curve;                      // a level; empty: none
  RegionOptions region;
  uint64_t warm_up = 0;                        // instructions, of the region
  MemoryTraceOptions memory_trace;
  uint64_t interval = 0;                       // instructions; 0: none
  uint32_t sim_threads = 0;                    // 0: not given
  bool check = false;
  bool details = false;
  size_t top = 20;  // rows of the tables of instructions and lines
  bool engine_statistics = false;
};

// Options that become others.
struct RunTexts {
  std::string statistics, region;
};
// Adds them to `app`; `texts` is to be given to check_run_options. Both must outlive it.
void add_run_options(CLI::App& app, RunOptions& options, RunTexts& texts);
// What the options together must obey. Throws UserError with exit status 2.
void check_run_options(const CommandLine& line, RunOptions& options, const RunTexts& texts, const std::string& example);

// Does what they say; simrun's exit status.
int run_and_report(const RunOptions& options);

// `words`: behind the sub-command's name. Throws TextWanted (command_line.h) or UserError with exit status 2.
RunOptions parse_run_options(const std::vector<std::string>& words);

}  // namespace simrun::cli
