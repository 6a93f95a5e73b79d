// The analysis once more, slow and obvious: loops as the definitions say, nothing left out, nothing in parallel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simpoint/k_means.h"

namespace simrun::simpoint::obvious {

using Rows = std::vector<std::vector<double>>;

Rows to_rows(const Points& points);

// Projection by an explicit matrix.
Rows project(const std::vector<std::vector<Entry>>& intervals, uint32_t dimensions, uint64_t seed);

struct Result {
  Rows centres;
  std::vector<uint32_t> labels;
  double distortion = 0;
  double bic = 0;
};

// Lloyd's algorithm from given centres, each point against each centre in each iteration.
Result k_means(const Rows& points, std::span<const double> weights, Rows centres, uint32_t most_iterations);

}  // namespace simrun::simpoint::obvious
