#include "simpoint/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/user_error.h"
#include "simpoint/random.h"

namespace simrun::simpoint {

double projected_length(uint32_t dimensions) { return dimensions == 0 ? 1 : std::sqrt(dimensions / 3.0); }

double projection_element(uint64_t seed, uint32_t block, uint32_t dimension) {
  return 2 * to_unit(random_at(random_at(seed, block), dimension)) - 1;
}

Points Projector::matrix(uint32_t blocks) const {
  if (given_.rows() != 0) return given_;
  Points made(blocks, dimensions_);
  for (uint32_t block = 1; block <= blocks; ++block)
    for (uint32_t d = 0; d < dimensions_; ++d) made(block - 1, d) = projection_element(seed_, block, d);
  return made;
}

const double* Projector::row(uint32_t block) {
  if (given_.rows() != 0) return given_.data() + static_cast<Eigen::Index>(block - 1) * given_.cols();
  const auto [made, is_new] = row_of_block_.emplace(block, static_cast<uint32_t>(row_of_block_.size()));
  if (is_new)
    for (uint32_t d = 0; d < dimensions_; ++d) matrix_.push_back(projection_element(seed_, block, d));
  return matrix_.data() + size_t{made->second} * dimensions_;
}

void Projector::add(std::span<const Entry> interval) {
  double sum = 0;
  for (const Entry& entry : interval) {
    if (!std::isfinite(entry.count) || entry.count < 0)
      throw UserError(fmt::format("interval {}: block {} has the count {}", intervals(), entry.block, entry.count));
    if (entry.block == 0) throw UserError(fmt::format("interval {}: block 0 (they are numbered from 1)", intervals()));
    sum += entry.count;
    largest_block_ = std::max(largest_block_, entry.block);
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw UserError(
        fmt::format("interval {}: the sum of its vector is {}, so it cannot be normalised", intervals(), sum));
  if (given_.rows() != 0 && largest_block_ > given_.rows())
    throw UserError(
        fmt::format("interval {}: block {}, but the projection matrix has {} rows (it is of another profile)",
                    intervals(), largest_block_, given_.rows()));
  if (dimensions_ == 0) {
    if (largest_block_ > kMostUnprojected)
      throw UserError(fmt::format("block {} without projection: at most {} blocks; give --dimensions", largest_block_,
                                  kMostUnprojected));
    plain_.emplace_back(interval.begin(), interval.end());
  } else {
    const size_t first = values_.size();
    values_.resize(first + dimensions_, 0.0);
    for (const Entry& entry : interval) {
      const double* const from = row(entry.block);
      const double share = entry.count / sum;
      for (uint32_t d = 0; d < dimensions_; ++d) values_[first + d] += share * from[d];
    }
  }
  sums_.push_back(sum);
}

namespace {

// No rows: no interval says any.
Points far_references(std::span<const Interval> intervals) {
  const bool are_known = std::any_of(intervals.begin(), intervals.end(), [](const Interval& i) { return i.far != FarReferences(); });
  Points made(are_known ? static_cast<Eigen::Index>(intervals.size()) : 0, static_cast<Eigen::Index>(FarReferences().size()));
  for (Eigen::Index i = 0; i < made.rows(); ++i) {
    const Interval& interval = intervals[static_cast<size_t>(i)];
    const auto instructions = static_cast<double>(std::max<uint64_t>(interval.counted(), 1));
    for (size_t k = 0; k < interval.far.size(); ++k) made(i, static_cast<Eigen::Index>(k)) = static_cast<double>(interval.far[k]) / instructions;
  }
  return made;
}

}  // namespace

ProjectedIntervals Projector::finish(std::span<const Interval> known) {
  const auto rows = static_cast<Eigen::Index>(sums_.size());
  ProjectedIntervals made;
  if (dimensions_ == 0) {
    made.points = Points::Zero(rows, largest_block_);
    for (Eigen::Index i = 0; i < rows; ++i)
      for (const Entry& entry : plain_[static_cast<size_t>(i)])
        made.points(i, entry.block - 1) += entry.count / sums_[static_cast<size_t>(i)];
  } else {
    made.points = Eigen::Map<const Points>(values_.data(), rows, dimensions_);
  }
  made.sums = std::move(sums_);
  if (known.size() == made.sums.size()) {
    std::transform(known.begin(), known.end(), made.sums.begin(), [](const Interval& i) { return static_cast<double>(i.counted()); });
    made.far = far_references(known);
  }
  Projector empty(dimensions_, seed_);
  empty.given_ = std::move(given_);
  *this = std::move(empty);
  return made;
}

}  // namespace simrun::simpoint
