#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "simpoint/k_means.h"
#include "simpoint/random.h"

namespace simrun::simpoint {

namespace {

// Index of the first running sum above `target`; the last index with a share if rounding leaves none.
size_t find_share(std::span<const double> shares, double target) {
  size_t last = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= 0) continue;
    last = i;
    target -= shares[i];
    if (target < 0) return i;
  }
  return last;
}

void lower_to(std::vector<double>& nearest, const Points& points, Eigen::Index centre) {
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    const double distance = (points.row(i) - points.row(centre)).squaredNorm();
    nearest[static_cast<size_t>(i)] = std::min(nearest[static_cast<size_t>(i)], distance);
  }
}

std::vector<size_t> sample(size_t n, uint32_t k, Random& random) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < k; ++i) std::swap(order[i], order[i + random.next() % (n - i)]);
  order.resize(k);
  return order;
}

// Furthest-first and k-means++ differ in what they take next.
std::vector<size_t> spread(const Points& points, std::span<const double> weights, uint32_t k, bool furthest,
                           Random& random) {
  const size_t n = weights.size();
  std::vector<double> nearest(n, std::numeric_limits<double>::infinity()), share(n);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<size_t> chosen{furthest ? random.next() % n : find_share(weights, random.unit() * all)};
  while (chosen.size() < k) {
    lower_to(nearest, points, static_cast<Eigen::Index>(chosen.back()));
    size_t next = static_cast<size_t>(std::max_element(nearest.begin(), nearest.end()) - nearest.begin());
    if (!furthest && nearest[next] > 0) {
      for (size_t i = 0; i < n; ++i) share[i] = weights[i] * nearest[i];
      next = find_share(share, random.unit() * std::accumulate(share.begin(), share.end(), 0.0));
    }
    chosen.push_back(next);  // all points chosen already: one of them again, its cluster stays empty
  }
  return chosen;
}

}  // namespace

Points initial_centres(const Points& points, std::span<const double> weights, uint32_t k, Initialisation how,
                       uint64_t seed) {
  const auto n = static_cast<size_t>(points.rows());
  CHECK(k >= 1 && k <= n && weights.size() == n);
  Random random(seed);
  const std::vector<size_t> chosen = how == Initialisation::kSample
                                         ? sample(n, k, random)
                                         : spread(points, weights, k, how == Initialisation::kFurthestFirst, random);
  Points centres(k, points.cols());
  for (uint32_t c = 0; c < k; ++c) centres.row(c) = points.row(static_cast<Eigen::Index>(chosen[c]));
  return centres;
}

}  // namespace simrun::simpoint
