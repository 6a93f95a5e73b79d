// What regions predict of the whole run, and how far off that is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace simrun::simpoint {

// Counts of one stretch of a run, in the order of names that someone else keeps; [0] is instructions.
using Counts = std::vector<double>;

Counts sum_of(std::span<const Counts> stretches);

// The counts of the whole run for each instruction of it: the sum over the regions of weight * count / instructions of
// the region. Weights are shares of the run's instructions that the regions stand for; how many instructions there are is known, so the first
// count, which is of them, is 1. The ratio of two others is the prediction of that ratio, numerator and denominator weighed separately.
// Regions must have instructions: CHECK.
Counts predict(std::span<const Counts> regions, std::span<const double> weights);

// The weight of a region that had `measured` instructions instead of the profile's `profiled`: threads share the work
// between two markers otherwise in each run. Its own interval, which has the weight `own`, weighs in that run what it is
// long there; the others that it stands for weigh what they do in the profile. Weights then sum to about 1.
double weight_as_measured(double weight, double own, double profiled, double measured);

// Half the width of the interval around the weighted mean of `values`, one for each region, that holds the mean of the whole 95 times of 100: strata are
// clusters, each with one or more regions of equal weight. A cluster with one region is taken to vary as the others do on average
// (pooled variance), and Student's distribution is taken for the degrees of freedom. Negative: not known, as fewer than 4 regions are beside
// others of their cluster, or clusters with one region weigh more than the others.
double confidence_95(std::span<const double> values, std::span<const double> weights,
                      std::span<const uint32_t> clusters);

// |predicted - measured| relative to measured; to `floor` when measured is smaller, because a relative error of what
// hardly ever happens says nothing.
double relative_error(double predicted, double measured, double floor);

}  // namespace simrun::simpoint
