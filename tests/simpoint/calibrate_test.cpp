// Calibrated weights: what they minimise, and what stays.
#include "simpoint/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace simrun::simpoint {
namespace {

constexpr double kRidge = 0.1;

double weight(const std::vector<SimulationPoint>& points) {
  double sum = 0;
  for (const SimulationPoint& p : points) sum += p.weight;
  return sum;
}

// Ten points of a hundred intervals, each of which stands for its own neighbours.
struct Sample {
  std::vector<SimulationPoint> points;
  std::vector<double> weights = std::vector<double>(100, 0.01);
  Points far = Points::Zero(100, 3);

  explicit Sample(double spread, uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (Eigen::Index i = 0; i < 100; ++i)
      for (Eigen::Index k = 0; k < 3; ++k) far(i, k) = static_cast<double>(i / 10 + 1) * (1 + spread * uniform(random)) / static_cast<double>(k + 1);
    for (uint32_t c = 0; c < 10; ++c) points.push_back({10 * c + 3, c, 0.1});
  }
  // How far the points' means of far references are from those of all intervals, in standard deviations of the points, squared.
  double distance(const std::vector<SimulationPoint>& chosen) const {
    double squares = 0;
    for (Eigen::Index k = 0; k < 3; ++k) {
      double whole = 0, mean = 0, square = 0, weighed = 0;
      for (Eigen::Index i = 0; i < 100; ++i) whole += 0.01 * far(i, k);
      for (const SimulationPoint& p : points) mean += far(static_cast<Eigen::Index>(p.interval), k) / 10;
      for (const SimulationPoint& p : points) square += std::pow(far(static_cast<Eigen::Index>(p.interval), k) - mean, 2) / 10;
      for (const SimulationPoint& p : chosen) weighed += p.weight * far(static_cast<Eigen::Index>(p.interval), k);
      squares += std::pow((weighed - whole) / (std::sqrt(square) + 1e-4), 2);
    }
    return squares;
  }
  double cost(const std::vector<SimulationPoint>& chosen) const {
    double change = 0;
    for (size_t i = 0; i < points.size(); ++i) change += std::pow(chosen[i].weight - points[i].weight, 2) / points[i].weight;
    return change + distance(chosen) / kRidge;
  }
};

TEST(Calibrate, FindsTheLeastCost) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> change(-0.01, 0.01);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Sample sample(0.5, seed);
    const auto made = calibrate(sample.points, sample.weights, sample.far);
    EXPECT_NEAR(weight(made), 1, 1e-12);
    EXPECT_LT(sample.distance(made), sample.distance(sample.points));
    for (const SimulationPoint& p : made) ASSERT_TRUE(p.weight > 0.026 && p.weight < 0.39) << "not within the bounds that are tested below";
    const double cost = sample.cost(made);
    for (int trial = 0; trial < 1000; ++trial) {
      auto other = made;
      const double moved = change(random);
      other[random() % 10].weight += moved, other[random() % 10].weight -= moved;
      EXPECT_GE(sample.cost(other), cost - 1e-12) << "seed " << seed;
    }
  }
}

TEST(Calibrate, LeavesWeightsAloneWhereNothingIsKnownOrWrong) {
  const Sample sample(0);
  EXPECT_EQ(calibrate(sample.points, sample.weights, Points()), sample.points);
  EXPECT_TRUE(calibrate({}, sample.weights, sample.far).empty());
  Points same = Points::Constant(100, 3, 0.25);
  for (const SimulationPoint& p : calibrate(sample.points, sample.weights, same)) EXPECT_NEAR(p.weight, 0.1, 1e-12);
  // One point, whatever it is like, stands for all.
  const auto one = calibrate({{3, 0, 1.0}}, sample.weights, sample.far);
  EXPECT_NEAR(one[0].weight, 1, 1e-12);
}

// A run whose far references none of the points has: none becomes negative, or all.
TEST(Calibrate, StaysWithinBounds) {
  Sample sample(0);
  for (Eigen::Index i = 0; i < 100; ++i) sample.far(i, 0) = i % 10 == 3 ? static_cast<double>(i) : 5000;
  const auto made = calibrate(sample.points, sample.weights, sample.far);
  EXPECT_NEAR(weight(made), 1, 1e-12);
  double least = 1, most = 0;
  for (const SimulationPoint& p : made) least = std::min(least, p.weight), most = std::max(most, p.weight);
  EXPECT_GT(least, 0);
  EXPECT_LE(most, 16 * least * (1 + 1e-9));
}

}  // namespace
}  // namespace simrun::simpoint
