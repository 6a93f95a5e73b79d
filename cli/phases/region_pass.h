// The run of a program that is simulated in parts, and traced there: which stops it has, where it may go through count
// mode, and what the traces are called.
#pragma once

#include <string>
#include <vector>

#include "cli/phases/region_sink.h"
#include "cli/phases/region_traces.h"
#include "instr/border/shared_memory.h"
#include "simpoint/regions.h"

namespace simrun::cli {

struct RegionPass {
  std::vector<Stop> stops;
  std::vector<bool> is_change;  // of the plan's stages; the others are only the ends of traces
  // By stop: regions whose traces begin there, whose warm-up is over, whose traces end.
  std::vector<std::vector<size_t>> begins, measures, closes;
  std::vector<RegionTrace> traces;           // by region; empty: none are wanted
  std::vector<std::string> states;           // by stop: where to store what the caches hold; empty: not
  uint64_t tolerance = 0;                    // RegionSink's
  std::vector<border::ModeSwitch> switches;  // empty: traced from beginning to end
};

// `folder`: for the traces; empty: none. `program`: first word of their names. `is_recorded`: there is nothing to
// count.
RegionPass plan_pass(const simpoint::RegionPlan& plan, const simpoint::Profile& profile, const std::string& folder,
                     const std::string& program, bool is_recorded);

// Traces of the regions in a pass that stops at each interval: of several threads, a stored state and what follows it
// must be of one run, as how far the others have come differs from run to run.
void trace_intervals(RegionPass& pass, const simpoint::RegionPlan& plan, const std::string& folder,
                     const std::string& program);

// Its switches when it begins at stop `first`.
std::vector<border::ModeSwitch> switches_from(const RegionPass& pass, size_t first, const simpoint::Profile& profile);

// RegionSink's, of a run that is traced from beginning to end.
uint64_t tolerance_of(const simpoint::Profile& profile);

// PROGRAM_r001_phase02_weight0.12345, the same with .trace
std::string region_name(const std::string& program, const simpoint::Region& region);
std::string trace_name(const std::string& program, const simpoint::Region& region);

}  // namespace simrun::cli
