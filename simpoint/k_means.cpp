#include "simpoint/k_means.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace simrun::simpoint {

namespace {

constexpr Eigen::Index kPiece = 2048;  // points per piece; part of the result's definition (order of additions)

// Centres by dimension, so that one point is compared with several centres at once: [dimension][centre].
struct CentreTable {
  explicit CentreTable(const Points& centres)
      : k(static_cast<size_t>(centres.rows())), by_dimension(centres.transpose()) {}
  size_t k;
  Points by_dimension;
};

struct Nearest {
  uint32_t label;
  double first, second;  // squared distances to the nearest and the second nearest
};

// Squared distances of one point to all centres. The order of additions is that of the dimensions, however wide the
// vectors are (no fused multiply-add in either clone): same bits on every processor.
#if !defined(__SANITIZE_THREAD__)  // the choice is made before its runtime has started
[[gnu::target_clones("avx2", "default")]]
#endif
void distances_to_all(const double* point, const double* centres, size_t k, size_t dimensions, double* to) {
  std::fill(to, to + k, 0.0);
  for (size_t d = 0; d < dimensions; ++d) {
    const double x = point[d];
    const double* const row = centres + d * k;
    for (size_t c = 0; c < k; ++c) {
      const double difference = x - row[c];
      to[c] += difference * difference;
    }
  }
}

Nearest nearest_of(const double* point, const CentreTable& centres, std::vector<double>& scratch) {
  scratch.resize(centres.k);
  distances_to_all(point, centres.by_dimension.data(), centres.k, static_cast<size_t>(centres.by_dimension.rows()),
                   scratch.data());
  Nearest best{0, scratch[0], std::numeric_limits<double>::infinity()};
  for (size_t c = 1; c < centres.k; ++c) {
    if (scratch[c] < best.first)
      best = {static_cast<uint32_t>(c), scratch[c], best.first};
    else
      best.second = std::min(best.second, scratch[c]);
  }
  return best;
}

double squared_distance(const double* point, const CentreTable& centres, uint32_t label) {
  double sum = 0;
  for (Eigen::Index d = 0; d < centres.by_dimension.rows(); ++d) {
    const double difference = point[d] - centres.by_dimension(d, label);
    sum += difference * difference;
  }
  return sum;
}

template <class Body>
void for_each_piece(Eigen::Index rows, [[maybe_unused]] bool parallel, Body&& body) {
  const Eigen::Index pieces = (rows + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(dynamic) if (parallel)
  for (Eigen::Index piece = 0; piece < pieces; ++piece)
    body(piece, piece * kPiece, std::min(rows, (piece + 1) * kPiece));
}

class Lloyd {
 public:
  Lloyd(const Points& points, std::span<const double> weights, const Points& centres, bool parallel)
      : points_(points),
        weights_(weights),
        centres_(centres),
        parallel_(parallel),
        labels_(weights.size()),
        upper_(weights.size()),
        lower_(weights.size()),
        moved_(static_cast<size_t>(centres.rows())),
        sums_(static_cast<size_t>((points.rows() + kPiece - 1) / kPiece)) {
    const CentreTable table(centres_);
    for_each_piece(points_.rows(), parallel_, [&](Eigen::Index, Eigen::Index from, Eigen::Index to) {
      std::vector<double> scratch;
      for (Eigen::Index i = from; i < to; ++i) find(i, table, scratch);
    });
  }

  // False: no label changed.
  bool step() {
    move_centres();
    const CentreTable table(centres_);
    const std::vector<double> half = half_distances();
    const size_t furthest = static_cast<size_t>(std::max_element(moved_.begin(), moved_.end()) - moved_.begin());
    double second = 0;
    for (size_t c = 0; c < moved_.size(); ++c)
      if (c != furthest) second = std::max(second, moved_[c]);
    std::vector<uint8_t> changed(sums_.size(), 0);
    for_each_piece(points_.rows(), parallel_, [&](Eigen::Index piece, Eigen::Index from, Eigen::Index to) {
      std::vector<double> scratch;
      for (Eigen::Index row = from; row < to; ++row) {
        const auto i = static_cast<size_t>(row);
        const uint32_t label = labels_[i];
        // The bounds are a little wider than they need be, so that rounding never leaves a comparison out.
        upper_[i] = (upper_[i] + moved_[label]) * (1 + kRounding);
        lower_[i] = (lower_[i] - (label == furthest ? second : moved_[furthest])) * (1 - kRounding);
        const double bound = std::max(half[label], lower_[i]);
        if (upper_[i] < bound) continue;
        upper_[i] = std::sqrt(squared_distance(points_.data() + row * points_.cols(), table, label)) * (1 + kRounding);
        if (upper_[i] < bound) continue;
        find(row, table, scratch);
        if (labels_[i] != label) changed[static_cast<size_t>(piece)] = 1;
      }
    });
    return std::find(changed.begin(), changed.end(), 1) != changed.end();
  }

  const Points& centres() const { return centres_; }
  const std::vector<uint32_t>& labels() const { return labels_; }

 private:
  static constexpr double kRounding = 1e-12;

  struct Sums {
    Points sum;
    Eigen::VectorXd weight;
  };

  void find(Eigen::Index row, const CentreTable& table, std::vector<double>& scratch) {
    const auto i = static_cast<size_t>(row);
    const Nearest n = nearest_of(points_.data() + row * points_.cols(), table, scratch);
    labels_[i] = n.label;
    upper_[i] = std::sqrt(n.first) * (1 + kRounding);
    lower_[i] = std::sqrt(n.second) * (1 - kRounding);
  }

  void move_centres() {
    const Eigen::Index k = centres_.rows();
    for_each_piece(points_.rows(), parallel_, [&](Eigen::Index piece, Eigen::Index from, Eigen::Index to) {
      Sums& sums = sums_[static_cast<size_t>(piece)];
      sums.sum = Points::Zero(k, points_.cols());
      sums.weight = Eigen::VectorXd::Zero(k);
      for (Eigen::Index i = from; i < to; ++i) {
        const double weight = weights_[static_cast<size_t>(i)];
        sums.sum.row(labels_[static_cast<size_t>(i)]) += weight * points_.row(i);
        sums.weight[labels_[static_cast<size_t>(i)]] += weight;
      }
    });
    Points sum = Points::Zero(k, points_.cols());
    Eigen::VectorXd weight = Eigen::VectorXd::Zero(k);
    for (const Sums& piece : sums_) sum += piece.sum, weight += piece.weight;
    for (Eigen::Index c = 0; c < k; ++c) {
      moved_[static_cast<size_t>(c)] = 0;
      if (weight[c] <= 0) continue;
      const Eigen::RowVectorXd centre = sum.row(c) / weight[c];
      moved_[static_cast<size_t>(c)] = (centre - centres_.row(c)).norm() * (1 + kRounding);
      centres_.row(c) = centre;
    }
  }

  // Of each centre to the nearest other one, halved: a point nearer than that has no other nearest centre.
  std::vector<double> half_distances() const {
    const Eigen::Index k = centres_.rows();
    std::vector<double> half(static_cast<size_t>(k), std::numeric_limits<double>::infinity());
    for (Eigen::Index a = 0; a < k; ++a)
      for (Eigen::Index b = a + 1; b < k; ++b) {
        const double distance = 0.5 * (centres_.row(a) - centres_.row(b)).norm() * (1 - kRounding);
        half[static_cast<size_t>(a)] = std::min(half[static_cast<size_t>(a)], distance);
        half[static_cast<size_t>(b)] = std::min(half[static_cast<size_t>(b)], distance);
      }
    return half;
  }

  const Points& points_;
  std::span<const double> weights_;
  Points centres_;
  bool parallel_;
  std::vector<uint32_t> labels_;
  std::vector<double> upper_, lower_;  // distance to the own centre at most, to any other at least
  std::vector<double> moved_;          // how far each centre went
  std::vector<Sums> sums_;             // of each piece
};

}  // namespace

Clustering k_means(const Points& points, std::span<const double> weights, const Points& first_centres,
                   uint32_t most_iterations, bool parallel) {
  CHECK(weights.size() == static_cast<size_t>(points.rows()) && first_centres.cols() == points.cols());
  Lloyd lloyd(points, weights, first_centres, parallel);
  uint32_t iterations = 0;
  while (iterations < most_iterations) {
    ++iterations;
    if (!lloyd.step()) break;
  }
  Clustering made = assign(points, weights, lloyd.centres(), parallel);
  made.iterations = iterations;
  return made;
}

Clustering assign(const Points& points, std::span<const double> weights, const Points& centres, bool parallel) {
  Clustering made;
  made.centres = centres;
  made.labels.resize(weights.size());
  made.distances.resize(weights.size());
  const CentreTable table(centres);
  std::vector<double> distortion(static_cast<size_t>((points.rows() + kPiece - 1) / kPiece), 0.0);
  for_each_piece(points.rows(), parallel, [&](Eigen::Index piece, Eigen::Index from, Eigen::Index to) {
    std::vector<double> scratch;
    double sum = 0;
    for (Eigen::Index row = from; row < to; ++row) {
      const auto i = static_cast<size_t>(row);
      const Nearest n = nearest_of(points.data() + row * points.cols(), table, scratch);
      made.labels[i] = n.label;
      made.distances[i] = n.first;
      sum += weights[i] * n.first;
    }
    distortion[static_cast<size_t>(piece)] = sum;
  });
  for (const double piece : distortion) made.distortion += piece;
  return made;
}

}  // namespace simrun::simpoint
