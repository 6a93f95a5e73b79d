#include "simpoint/prediction.h"

#include <algorithm>
#include <cmath>
#include <map>

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
  sum[0] = 1;
  return sum;
}

double weight_as_measured(double weight, double own, double profiled, double measured) {
  // Of several points of a phase one may stand for less than its own interval.
  return weight + std::min(own, weight) * (measured / profiled - 1);
}

namespace {

// The 97.5 % quantile of Student's distribution by Cornish and Fisher's expansion (Abramowitz and Stegun, 26.7.5): within 0.02 from 4 degrees
// of freedom on.
double student_quantile(double freedom) {
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

}  // namespace

double confidence_95(std::span<const double> values, std::span<const double> weights,
                      std::span<const uint32_t> clusters) {
  CHECK(values.size() == weights.size() && values.size() == clusters.size());
  struct Stratum {
    double weight = 0, sum = 0, squares = 0, regions = 0;
    double mean() const { return sum / regions; }
  };
  std::map<uint32_t, Stratum> strata;
  for (size_t i = 0; i < values.size(); ++i) {
    Stratum& s = strata[clusters[i]];
    s.weight += weights[i], s.sum += values[i], s.regions += 1;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double off = values[i] - strata[clusters[i]].mean();
    strata[clusters[i]].squares += off * off;
  }
  constexpr double kLeastFreedom = 4;
  double squares = 0, freedom = 0, alone = 0, together = 0;
  for (const auto& [cluster, s] : strata) {
    squares += s.squares, freedom += s.regions - 1;
    (s.regions > 1 ? together : alone) += s.weight;
  }
  if (freedom < kLeastFreedom || alone > together) return -1;
  double variance = 0;
  for (const auto& [cluster, s] : strata)
    variance += s.weight * s.weight / s.regions * (s.regions > 1 ? s.squares / (s.regions - 1) : squares / freedom);
  return student_quantile(freedom) * std::sqrt(variance);
}

double relative_error(double predicted, double measured, double floor) {
  return std::abs(predicted - measured) / std::max(std::abs(measured), floor);
}

}  // namespace simrun::simpoint
