#include "obvious.h"

#include <cmath>

namespace simrun::simpoint::obvious {

namespace {

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

std::vector<uint32_t> nearest(const Rows& points, const Rows& centres) {
  std::vector<uint32_t> labels(points.size(), 0);
  for (size_t i = 0; i < points.size(); ++i)
    for (uint32_t c = 1; c < centres.size(); ++c)
      if (squared_distance(points[i], centres[c]) < squared_distance(points[i], centres[labels[i]])) labels[i] = c;
  return labels;
}

void move(Rows& centres, const Rows& points, std::span<const double> weights, const std::vector<uint32_t>& labels) {
  for (uint32_t c = 0; c < centres.size(); ++c) {
    std::vector<double> sum(points[0].size(), 0.0);
    double weight = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      if (labels[i] != c) continue;
      weight += weights[i];
      for (size_t d = 0; d < sum.size(); ++d) sum[d] += weights[i] * points[i][d];
    }
    if (weight == 0) continue;
    for (size_t d = 0; d < sum.size(); ++d) centres[c][d] = sum[d] / weight;
  }
}

// FORMATS.md's formula, word by word.
double bic(const Result& r, const Rows& points, std::span<const double> weights) {
  const double n = static_cast<double>(points.size()), d = static_cast<double>(points[0].size());
  const double k = static_cast<double>(r.centres.size());
  double all = 0, distortion = 0, mixture = 0;
  for (const double w : weights) all += w;
  for (size_t i = 0; i < points.size(); ++i) {
    distortion += weights[i] * squared_distance(points[i], r.centres[r.labels[i]]);
    double of_cluster = 0;
    for (size_t j = 0; j < points.size(); ++j)
      if (r.labels[j] == r.labels[i]) of_cluster += weights[j];
    mixture += weights[i] / all * std::log(of_cluster);
  }
  distortion /= all / n;
  const double s2 = distortion / (d * n);
  const double likelihood = n * (-(d / 2) * (std::log(2 * M_PI * s2) + 1) - std::log(all) + mixture);
  return likelihood - ((k - 1) + k * d + 1) / 2 * std::log(n);
}

}  // namespace

Rows to_rows(const Points& points) {
  Rows rows(static_cast<size_t>(points.rows()));
  for (Eigen::Index i = 0; i < points.rows(); ++i)
    for (Eigen::Index d = 0; d < points.cols(); ++d) rows[static_cast<size_t>(i)].push_back(points(i, d));
  return rows;
}

Rows project(const std::vector<std::vector<Entry>>& intervals, uint32_t dimensions, uint64_t seed) {
  Rows rows;
  for (const auto& interval : intervals) {
    double sum = 0;
    for (const Entry& entry : interval) sum += entry.count;
    std::vector<double> row(dimensions, 0.0);
    for (uint32_t d = 0; d < dimensions; ++d)
      for (const Entry& entry : interval) row[d] += entry.count / sum * projection_element(seed, entry.block, d);
    rows.push_back(row);
  }
  return rows;
}

Result k_means(const Rows& points, std::span<const double> weights, Rows centres, uint32_t most_iterations) {
  Result r;
  r.labels = nearest(points, centres);
  for (uint32_t iteration = 0; iteration < most_iterations; ++iteration) {
    move(centres, points, weights, r.labels);
    const std::vector<uint32_t> labels = nearest(points, centres);
    const bool same = labels == r.labels;
    r.labels = labels;
    if (same) break;
  }
  r.centres = centres;
  for (size_t i = 0; i < points.size(); ++i)
    r.distortion += weights[i] * squared_distance(points[i], centres[r.labels[i]]);
  r.bic = bic(r, points, weights);
  return r;
}

}  // namespace simrun::simpoint::obvious
