// From clusters to simulation points: one interval that stands for each, and its weight.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simpoint/k_means.h"

namespace simrun::simpoint {

struct SimulationPoint {
  uint64_t interval = 0;  // from 0
  uint32_t cluster = 0;   // as labelled
  double weight = 0;      // of its cluster, or its share of it; all of a selection sum to 1
  bool operator==(const SimulationPoint&) const = default;
};

struct SelectionOptions {
  // 0: the interval nearest to the centre (of equals the earliest, as SimPoint has it). Above: the earliest whose distance is at most
  // nearest + early (median - nearest) of its cluster, so that less has to be skipped to reach it (Perelman et al.,
  // PACT 2003).
  double early = 0;
  // Of equals, by rounding, the middle one: the first of intervals that all do the same is often the one that fills the caches.
  bool middle_of_equals = false;
  // By interval: not to stand for others (it is hard to find again) while its cluster has another that is no farther from
  // the centre than its intervals are on average (the root of the weighted mean square). Empty: none.
  std::vector<bool> avoided = {};
};

// By cluster; clusters without points are left out. `weights`: of each interval.
std::vector<SimulationPoint> select_points(const Clustering& clustering, std::span<const double> weights,
                                           const SelectionOptions& options = {});

// The heaviest clusters until `coverage` (above 0, at most 1) of the weight is reached, weights scaled to sum to 1, by
// cluster.
std::vector<SimulationPoint> cover(std::vector<SimulationPoint> points, double coverage);
// Of the weight of `all`, what the clusters of `covered` have.
double covered_part(std::span<const SimulationPoint> all, std::span<const SimulationPoint> covered);

// About `total` points instead of one for each cluster: those of a cluster that weighs a tenth are a tenth of them,
// evenly spread over its intervals in time (stratified systematic sampling). A cluster that gets only one keeps its
// own. In the order of clusters, then of the run.
std::vector<SimulationPoint> spread(const Clustering& clustering, std::span<const double> weights,
                                    std::span<const SimulationPoint> points, uint64_t total,
                                    const std::vector<bool>& avoided = {});

// Points for phases that hold intervals which are not alike (mixed_phases), if they are a tenth of the run or more: as many as
// make a twentieth of the intervals in all, at most `most` points altogether, in proportion to a phase's weight
// times the mean distance of its intervals from its centre (Neyman's allocation to strata, with the distance for the
// unknown deviation). Phases whose intervals are alike keep their one.
// `length`: of the distances, projected_length() of the dimensions.
std::vector<SimulationPoint> spread_mixed(const Clustering& clustering, std::span<const double> weights,
                                          std::span<const SimulationPoint> points, double length, uint64_t most,
                                          const std::vector<bool>& avoided = {});

// Where one interval stands for many that are not alike (they lie further from their centre, on average, than intervals of
// one phase do by far: kMixed, in vectors that sum to 1), and these are a tenth of the run or more: a sentence that says
// so. Else empty.
inline constexpr double kMixed = 0.0112;
std::string mixed_phases(const Clustering& clustering, std::span<const double> weights,
                         std::span<const SimulationPoint> points, double length);

// The weight of each interval: 1/n each, or in proportion to its instructions.
std::vector<double> interval_weights(std::span<const double> sums, bool fixed_length);

}  // namespace simrun::simpoint
