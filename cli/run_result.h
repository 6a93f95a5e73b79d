// Everything that a run found out, as plain values: what the reports are made of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/hot_spots.h"
#include "cli/run_options.h"
#include "instr/channel/merge.h"
#include "instr/channel/thread_statistics.h"
#include "sim/build/machine_config.h"
#include "sim/curves/curve_model.h"
#include "sim/stats/interval_series.h"
#include "sim/stats/statistics.h"

namespace simrun::cli {

// Copied from border::EngineStatistics when the program has ended.
struct EngineCounts {
  uint64_t superblocks = 0, translated_instructions = 0, code_bytes = 0, links = 0;
  uint64_t dispatches_new = 0, dispatches_link = 0, dispatches_indirect = 0, dispatches_syscall = 0,
           dispatches_check = 0, dispatches_other = 0;
  uint64_t signals = 0, faults = 0, flushes = 0;
  uint64_t protected_pages = 0, pages_given_back = 0;  // of code that could change
  uint64_t indirect_targets = 0;                       // at the end
  double translation_seconds = 0;
  uint64_t renewals = 0;  // of the tables of descriptors
  uint64_t paths = 0;     // that were described

  EngineCounts& operator+=(const EngineCounts& o);
};

// A followed process: one image in one process.
struct ProcessReport {
  uint32_t index = 0;  // as in ThreadReport::process
  int pid = 0;
  std::string command;  // when it was let in
};

// Sums over the threads of a process, and over what they did to the machine.
struct ProcessCounts {
  channel::ThreadStatistics totals;
  sim::CoreStatistics model;
};

// One machine of a sweep.
struct SweepPoint {
  std::vector<std::pair<std::string, std::string>> settings;  // key, value
  sim::MachineConfig machine;
  sim::Statistics caches;
};

// Processor time of this process and all its threads so far, user and system.
double own_processor_seconds();

struct RunResult {
  std::vector<std::string> command;
  RunMode mode = RunMode::kSim;
  std::string order;        // between threads, as --order names it; empty: nothing was put in order
  std::string started;      // UTC, ISO 8601
  double wall_seconds = 0;  // from launch to the end of the simulation
  double simulator_seconds = 0;  // own_processor_seconds() then: without the program's
  int exit_code = 0;        // when signal == 0
  int signal = 0;           // that ended the program
  bool end_is_known = true;  // false: of a recording that was not completed or was imported, and if `attached`
  bool attached = false;    // to processes that others wait for
  bool counted = true;      // false: nothing was read of the stream (null, discard)
  std::string error;        // not empty: the simulation is not complete, and why
  std::vector<std::string> warnings;
  std::vector<ProcessReport> processes;        // by index
  uint64_t native_images = 0;                  // programs that were executed, or traced by the program, and ran natively
  uint64_t left_running = 0;                   // processes that outlived the program
  std::vector<channel::ThreadReport> threads;  // by index
  std::vector<channel::CoreReport> cores;      // of the simulated machine; empty without one
  channel::ProcessEvents events;
  uint64_t drained_words = 0;                 // thrown away (discard, or after an error)
  std::optional<sim::MachineConfig> machine;  // kSim
  sim::Statistics caches;                     // kSim
  std::vector<SweepPoint> sweep;              // instead of the two
  std::optional<RegionReport> region;         // that all counts are of; none: the whole run
  std::vector<sim::Interval> intervals;
  std::optional<sim::MissCurve> miss_curve;
  std::optional<HotSpots> hot_spots;  // --details
  std::string memory_trace;           // what is in its file; empty: there is none
  EngineCounts engine;                // of all processes
  bool show_engine = false;

  channel::ThreadStatistics totals() const;
  // Of each process that has threads, by its index.
  std::map<uint32_t, ProcessCounts> counts_by_process() const;
  // Instructions that ran on each core. Threads are put on cores by core_of_thread().
  std::vector<uint64_t> instructions_by_core() const;
  // The same run with the machine of a sweep.
  RunResult with(const SweepPoint& point) const {
    RunResult one = *this;
    one.machine = point.machine, one.caches = point.caches;
    one.sweep.clear();
    return one;
  }
  int shell_status() const { return signal != 0 ? 128 + signal : exit_code; }
};

// Without the scheduler of cores (MergeOptions::cores): round robin over the order in which threads were created.
constexpr uint32_t core_of_thread(uint32_t index, uint32_t cores) { return index % cores; }

}  // namespace simrun::cli
