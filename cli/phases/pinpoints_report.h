// What `simrun pinpoints` found out, and how it is said: a table for people, JSON for scripts (docs/phases.md has its
// keys), a page with the phases over time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/phases/run_counts.h"
#include "simpoint/regions.h"

namespace simrun::cli {

struct Findings {
  sim::MachineConfig machine;
  bool is_of_one_run = false;    // all out of one recorded run
  simpoint::Profile profile;
  std::vector<uint32_t> labels;  // the cluster of each interval
  std::vector<double> weights;   // of each interval, summing to 1
  double covered = 1;            // the part of the run in phases that have regions
  simpoint::RegionPlan plan;
  bool has_unknown_spread = false;  // phases of a tenth of the run are not alike and have one region each (simpoint::mixed_phases)
  std::vector<simpoint::Counts> stretches;  // from each change of the plan to the next
  std::vector<simpoint::Counts> whole;      // by interval; empty: not simulated
  std::vector<simpoint::Counts> stored;     // of each region from its stored state; empty: there are none
};

struct PinPointsReport {
  std::string table;
  nlohmann::json document;
  std::string page, picture;  // HTML, SVG
  double worst = 0;           // relative error, of all figures; from the stored states if there are any
  std::string worst_name;
};

// Of `found.stretches`. Throws UserError when regions that stand for more than a tenth of the run hold no instruction.
void check_regions_are_found(const Findings& found);

// Throws as that.
PinPointsReport make_report(const Findings& found);

}  // namespace simrun::cli
