// Weighted k-means (Lloyd) with the distance bounds of Hamerly (SDM 2010): the same assignment as comparing every point
// with every centre, of ties the lowest cluster, with most comparisons left out.
//
// The result depends on points, weights, k and seed only: sums are made over fixed pieces of the points and added in
// their order, whatever the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simpoint/projection.h"

namespace simrun::simpoint {

enum class Initialisation {
  kSample,         // k different points, drawn at random (SimPoint's `samp`)
  kFurthestFirst,  // a random point, then always the one furthest from those chosen (`ff`)
  kPlusPlus,       // k-means++: drawn with the squared distance times the weight
};

struct Clustering {
  Points centres;                 // k rows; a cluster without points keeps its last centre
  std::vector<uint32_t> labels;   // of each point
  std::vector<double> distances;  // squared, of each point to its centre
  double distortion = 0;          // sum of weight times squared distance
  uint32_t iterations = 0;
  uint32_t k() const { return static_cast<uint32_t>(centres.rows()); }
};

// `weights`: one for each point, positive. k from 1 to the number of points.
Points initial_centres(const Points& points, std::span<const double> weights, uint32_t k, Initialisation how,
                       uint64_t seed);

// Until no label changes, or `most_iterations`. `parallel`: use OpenMP inside (same answer).
Clustering k_means(const Points& points, std::span<const double> weights, const Points& first_centres,
                   uint32_t most_iterations, bool parallel);

// Labels, distances and distortion of `points` for given centres.
Clustering assign(const Points& points, std::span<const double> weights, const Points& centres, bool parallel);

}  // namespace simrun::simpoint
