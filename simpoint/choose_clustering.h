// How many phases? Clusters the intervals for several k with several seeds each, and takes the smallest k whose BIC
// comes near the best (SimPoint 3.2's rule; Sherwood et al., ASPLOS 2002, section 4.4).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "simpoint/k_means.h"

namespace simrun::simpoint {

struct ClusteringOptions {
  std::vector<uint32_t> ks = {};  // exactly these; empty: up to max_k
  uint32_t max_k = 30;            // and no more than most_phases(); with least_gain 0 no more than intervals, as SimPoint
  bool search = true;  // up to max_k: by bisection, else all of them
  Initialisation initialisation = Initialisation::kPlusPlus;
  uint32_t seeds = 5;         // clusterings for each k
  uint64_t seed = 493575226;  // of the first; SimPoint's own default
  uint32_t iterations = 100;
  double threshold = 0.9;  // of the range of BIC over the ks examined
  // One phase unless some k examined has a BIC that is better by this much for each interval and dimension (natural
  // logarithm of likelihood; 0.1 is about a fifth of the distortion). Not in SimPoint: its threshold is relative to the
  // range of BIC, and finds phases in the noise of a program that has one. One phase, too,
  // when is_spread_normally() (normal_spread.h), whatever BIC gains. 0: as SimPoint.
  double least_gain = 0.1;
  uint64_t sample = 0;  // cluster on that many intervals, drawn by weight; 0: on all. Labels and BIC are of all.
  uint64_t sample_seed = 385089224;  // SimPoint's own default
  // Begin with these instead of drawing any: one clustering, with as many clusters. No rows: not given.
  Points first_centres = {};
};

// A clustering without what it says of each interval: assign() of its centres says that again, to the bit. So that a
// million intervals need no more memory for many k than for one.
struct ScoredClustering {
  Points first_centres, centres;
  double distortion = 0;  // as in Clustering
  double bic = 0;
  uint64_t seed = 0;
  uint32_t run = 0;  // from 1, in the order in which ks were tried (SimPoint's number in names of files)
  uint32_t k() const { return static_cast<uint32_t>(centres.rows()); }
};

struct ClusteringChoice {
  std::vector<ScoredClustering> examined;  // by k; the best seed of each
  size_t chosen = 0;                       // index into it
  Clustering clustering;                   // the chosen one
};

// Called when a k is done: k, its BIC. May be empty.
using OnExamined = std::function<void(uint32_t k, double bic)>;

// `weights`: one for each point. Throws UserError when the options or weights make no sense. A k above the number of
// points is lowered to it.
ClusteringChoice choose_clustering(const Points& points, std::span<const double> weights,
                                   const ClusteringOptions& options, const OnExamined& on_examined = {});

// Two intervals for each at least. SimPoint's BIC takes the likeliest variance, which goes to 0 as k comes near the number of points: it would find that
// each of a few intervals is a phase, however alike they are.
constexpr uint64_t most_phases(uint64_t intervals) { return std::max<uint64_t>(intervals / 2, 1); }

// Whether more phases were not looked for because there are not enough intervals.
bool are_few_intervals(const ClusteringChoice& choice, const ClusteringOptions& options);

// The greatest k that was given, if it made fewer clusters (the others would have no interval); else 0.
uint32_t greatest_k_lowered(const ClusteringChoice& choice, const ClusteringOptions& options);

// True when k = 1 was examined and no other k gains `least_gain` (ClusteringOptions) over it.
bool is_one_phase(std::span<const ScoredClustering> examined, size_t intervals, double least_gain);

// The smallest k of `examined` (by k) whose BIC reaches min + threshold (max - min).
size_t choose_by_threshold(std::span<const ScoredClustering> examined, double threshold);

}  // namespace simrun::simpoint
