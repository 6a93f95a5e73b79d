#include "simpoint/calibrate.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace simrun::simpoint {

std::vector<SimulationPoint> calibrate(std::vector<SimulationPoint> points, std::span<const double> weights, const Points& far) {
  constexpr double kRidge = 0.1, kLeast = 0.25, kMost = 4;   // by the errors of seven programs (decision 50)
  constexpr double kNothing = 1e-4;                          // references for each instruction: what differs by less should not matter
  if (far.rows() == 0 || points.empty()) return points;
  const auto count = static_cast<Eigen::Index>(points.size()), kinds = far.cols();
  const Eigen::Map<const Eigen::VectorXd> of_intervals(weights.data(), static_cast<Eigen::Index>(weights.size()));
  const Eigen::RowVectorXd whole = of_intervals.transpose() * far / of_intervals.sum();
  Eigen::VectorXd before(count);
  Eigen::MatrixXd chosen(count, kinds);
  for (Eigen::Index i = 0; i < count; ++i) {
    before[i] = points[static_cast<size_t>(i)].weight;
    chosen.row(i) = far.row(static_cast<Eigen::Index>(points[static_cast<size_t>(i)].interval));
  }
  const double sum = before.sum();
  before /= sum;
  // A column of ones, for the weights' own sum, then deviations from the whole run, in standard deviations of the points.
  Eigen::MatrixXd known = Eigen::MatrixXd::Ones(count, kinds + 1);
  for (Eigen::Index k = 0; k < kinds; ++k) {
    const Eigen::VectorXd column = chosen.col(k);
    const double deviation = std::sqrt((column.array() - column.mean()).square().mean());
    known.col(k + 1) = (column.array() - whole[k]) / (deviation + kNothing);
  }
  Eigen::MatrixXd normal = known.transpose() * before.asDiagonal() * known;
  normal.diagonal().tail(kinds).array() += kRidge;
  Eigen::VectorXd wanted = Eigen::VectorXd::Zero(kinds + 1);
  wanted[0] = 1;
  const Eigen::VectorXd factors = normal.ldlt().solve(wanted - known.transpose() * before);
  Eigen::VectorXd after = before.array() * (1 + (known * factors).array()).max(kLeast).min(kMost);
  after *= sum / after.sum();
  for (Eigen::Index i = 0; i < count; ++i) points[static_cast<size_t>(i)].weight = after[i];
  return points;
}

}  // namespace simrun::simpoint
