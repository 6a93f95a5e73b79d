#include "simpoint/normal_spread.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <vector>

#include "simpoint/bic.h"

namespace simrun::simpoint {

namespace {

// Reached by a normal distribution once in 10,000 samples (Hamerly and Elkan, section 3.1).
constexpr double kCriticalValue = 1.8692;

double log_normal_cdf(double x) { return std::log(0.5 * std::erfc(-x / std::sqrt(2.0))); }

// The statistic of Anderson and Darling, for a mean and a variance that are those of the sample (Stephens, JASA 1974).
double anderson_darling(std::vector<double> values, double deviation) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i)
    sum += static_cast<double>(2 * i + 1) * (log_normal_cdf(values[i] / deviation) +
                                             log_normal_cdf(-values[values.size() - 1 - i] / deviation));
  return (-n - sum / n) * (1 + 4 / n - 25 / (n * n));
}

}  // namespace

bool is_spread_normally(const Points& points) {
  const Eigen::Index n = points.rows(), d = points.cols();
  if (n < kFewestForSpread || d > kMostAxes) return false;
  const Eigen::RowVectorXd mean = points.colwise().mean();
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(d, d);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::RowVectorXd off = points.row(i) - mean;
    covariance += off.transpose() * off / static_cast<double>(n - 1);
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> axes(covariance);
  const double total = covariance.trace();
  if (!(total > 0) || axes.info() != Eigen::Success) return false;
  for (Eigen::Index axis = d; axis-- > 0;) {  // the longest first
    const double variance = axes.eigenvalues()[axis];
    if (variance <= kSmallestVariance * total) break;  // there are fewer blocks than axes: rounding
    std::vector<double> values;
    for (Eigen::Index i = 0; i < n; ++i) values.push_back((points.row(i) - mean).dot(axes.eigenvectors().col(axis)));
    if (!(anderson_darling(std::move(values), std::sqrt(variance)) < kCriticalValue)) return false;
  }
  return true;
}

}  // namespace simrun::simpoint
