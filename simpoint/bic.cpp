#include "simpoint/bic.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace simrun::simpoint {

double total_distortion(const Points& points, std::span<const double> weights) {
  Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(points.cols());
  double sum = 0;
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    const double weight = weights[static_cast<size_t>(i)];
    sum += weight;
    mean += weight * points.row(i);
  }
  mean /= sum;
  double distortion = 0, size = 0;
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    distortion += weights[static_cast<size_t>(i)] * (points.row(i) - mean).squaredNorm();
    size += weights[static_cast<size_t>(i)] * points.row(i).squaredNorm();
  }
  return distortion > kRounding * kRounding * size ? distortion : 0;
}

double bic(const Clustering& clustering, std::span<const double> weights, double total) {
  const auto n = static_cast<double>(weights.size());
  const auto d = static_cast<double>(clustering.centres.cols());
  const double k = clustering.k();
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> of_cluster(clustering.k(), 0.0);
  for (size_t i = 0; i < weights.size(); ++i) of_cluster[clustering.labels[i]] += weights[i];

  const double to_unit_weights = n / all;  // 1 / mean(w)
  const double floor = total > 0 ? kSmallestVariance * total * to_unit_weights / (d * n) : 1;
  const double variance = std::max(clustering.distortion * to_unit_weights / (d * n), floor);
  double mixture = -std::log(all);
  for (const double weight : of_cluster)
    if (weight > 0) mixture += weight / all * std::log(weight);
  const double likelihood = n * (-d / 2 * (std::log(2 * std::numbers::pi * variance) + 1) + mixture);
  const double parameters = (k - 1) + k * d + 1;
  return likelihood - parameters / 2 * std::log(n);
}

}  // namespace simrun::simpoint
