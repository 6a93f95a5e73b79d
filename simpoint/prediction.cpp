#include "simpoint/prediction.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace simrun::simpoint {

Counts sum_of(std::span<const Counts> stretches) {
  CHECK(!stretches.empty());
  Counts sum(stretches[0].size(), 0.0);
  for (const Counts& counts : stretches) {
    CHECK(counts.size() == sum.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += counts[i];
  }
  return sum;
}

Counts predict(std::span<const Counts> regions, std::span<const double> weights) {
  CHECK(!regions.empty() && regions.size() == weights.size());
  Counts sum(regions[0].size(), 0.0);
  for (size_t r = 0; r < regions.size(); ++r) {
    CHECK(regions[r].size() == sum.size() && regions[r][0] > 0);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += weights[r] * regions[r][i] / regions[r][0];
  }
  return sum;
}

double relative_error(double predicted, double measured, double floor) {
  return std::abs(predicted - measured) / std::max(std::abs(measured), floor);
}

}  // namespace simrun::simpoint
