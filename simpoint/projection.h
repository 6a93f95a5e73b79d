// From sparse basic-block vectors to a few dense dimensions. Each vector is divided by its sum, then multiplied by a
// random matrix with elements uniform in [-1, 1] (Dasgupta 2000, as SimPoint does). The matrix is a function of (seed,
// block, dimension) and is kept only for the blocks that occur: intervals can be added one by one as they are read, so
// a profile of any length needs memory for the projected points only.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simpoint/profile.h"

namespace simrun::simpoint {

// One non-zero element of a frequency vector.
struct Entry {
  uint32_t block = 0;  // from 1
  double count = 0;    // executions times instructions of the block
  bool operator==(const Entry&) const = default;
};

// Element of the projection matrix: uniform in [-1, 1).
double projection_element(uint64_t seed, uint32_t block, uint32_t dimension);

// What a projected vector of length 1 is long on average (root of the mean square): the variance of an element is 1/3.
double projected_length(uint32_t dimensions);

// One row for each interval.
using Points = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The intervals to be clustered.
struct ProjectedIntervals {
  Points points;             // one row each
  std::vector<double> sums;  // instructions that are counted of each interval: its length less what is left out if that is known, else the sum of its vector
  Points far = {};           // Interval::far for each instruction that is counted, one row each; no rows: unknown
  size_t size() const { return sums.size(); }
};

class Projector {
 public:
  // `dimensions` 0: no projection, one dimension for each block (at most kMostUnprojected blocks).
  Projector(uint32_t dimensions, uint64_t seed) : dimensions_(dimensions), seed_(seed) {}
  static constexpr uint32_t kMostUnprojected = 4096;
  // By a matrix that is given: a row for each block, from 1.
  explicit Projector(Points matrix)
      : dimensions_(static_cast<uint32_t>(matrix.cols())), seed_(0), given_(std::move(matrix)) {}

  // Throws UserError when a count is negative or not finite, the sum is zero, or there are more blocks than unprojected
  // dimensions or rows of the matrix.
  void add(std::span<const Entry> interval);
  size_t intervals() const { return sums_.size(); }
  uint32_t largest_block() const { return largest_block_; }

  // Of blocks 1 to `blocks`, to be saved: what add() multiplies by.
  Points matrix(uint32_t blocks) const;

  // Leaves the projector empty. `known`: the profile's intervals, none if it does not say them. (Not all that is in a vector is instructions, nor
  // all instructions in a vector.)
  ProjectedIntervals finish(std::span<const Interval> known = {});

 private:
  const double* row(uint32_t block);

  uint32_t dimensions_;
  uint64_t seed_;
  Points given_;  // no rows: the matrix is random
  uint32_t largest_block_ = 0;
  std::vector<double> values_;             // dimensions_ each
  std::vector<std::vector<Entry>> plain_;  // dimensions_ 0: kept until the number of blocks is known
  std::vector<double> sums_;
  std::vector<double> matrix_;          // rows of blocks that occurred
  std::unordered_map<uint32_t, uint32_t> row_of_block_;  // ids need not be near each other
};

}  // namespace simrun::simpoint
