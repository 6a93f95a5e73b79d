// Do intervals differ as noise does? BIC takes clusters to be spheres. Noise of a few heavy blocks is an ellipsoid, and cut
// across its long axes it has a better BIC than whole, though nothing in it is a phase.
#pragma once

#include "simpoint/projection.h"

namespace simrun::simpoint {

// Of fewer intervals the test below is too weak: ten planted phases in 40 intervals pass it, in 100 none of 2 to 10 do.
constexpr Eigen::Index kFewestForSpread = 100;
// Of vectors that are not projected there can be as many as blocks, and finding the axes costs their third power.
constexpr Eigen::Index kMostAxes = 100;

// True when points are spread normally along each of their principal axes: one cloud, however long. By the test of
// Anderson and Darling, as Hamerly and Elkan ask of one cluster whether it is to be split (Learning the k in k-means,
// NIPS 2003; there along one axis). False also when that cannot be said.
bool is_spread_normally(const Points& points);

}  // namespace simrun::simpoint
