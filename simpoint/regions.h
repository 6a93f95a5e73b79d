// From simulation points to regions of a run: what to warm up, what to measure, when to change.
//
// Warm-up lies before the region, [start - W, start), and is made of whole intervals, so that its beginning has a
// marker as well: W is rounded up. Where it would start before the run it is shortened; where it meets another region
// that part is measured (and warms as well). All of that is said in `remarks`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simpoint/profile.h"
#include "simpoint/simulation_points.h"

namespace simrun::simpoint {

struct Region {
  uint32_t id = 0;  // from 1, in the order of the run
  uint32_t cluster = 0;
  uint64_t interval = 0;
  uint64_t start = 0, length = 0;  // instructions
  Marker begin, end;               // end.count 0: the end of the program
  uint64_t end_executions = 0;     // of the instruction at `end`, in the region
  double weight = 0;              // share of the run's instructions that are counted (Interval::counted)
  double multiplier = 0;          // those of the cluster / those of the region
  uint64_t warm_up_interval = 0;  // first one of the warm-up; == interval: none
  uint64_t warm_up = 0;           // instructions
  bool operator==(const Region&) const = default;
};

enum class Stage : uint8_t { kSkip, kWarmUp, kMeasure };

// Where a run changes from one stage to another: at the begin of `interval`.
struct StageChange {
  uint64_t interval = 0;
  Stage stage = Stage::kSkip;
  bool operator==(const StageChange&) const = default;
};

struct RegionPlan {
  std::vector<Region> regions;       // in the order of the run
  std::vector<StageChange> changes;  // likewise; each region's interval, and where its warm-up begins, has one of its own
  std::vector<std::string> remarks;
};

// Of the run's instructions, all but what is left out of intervals.
uint64_t counted_instructions(const Profile& profile);

// By interval: it begins in one thread and ends in another, whose order is not the same in each run.
std::vector<bool> intervals_that_change_hands(const Profile& profile);

// Throws UserError when a point names an interval that the profile does not have, or the profile does not say where its
// intervals begin.
RegionPlan plan_regions(const Profile& profile, std::span<const SimulationPoint> points, uint64_t warm_up);

// PinPoints' two forms of a region file, with warm-ups as regions of type `warmup:ID` in the second.
std::string icount_csv(const RegionPlan& plan, const Profile& profile);
std::string pc_count_csv(const RegionPlan& plan, const Profile& profile);

}  // namespace simrun::simpoint
