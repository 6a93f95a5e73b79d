// The Bayesian information criterion of a clustering (Pelleg and Moore, ICML 2000), weighted as SimPoint 3.2 does:
//
//   BIC = L - p/2 ln n,  p = (k - 1) + k d + 1
//   L = n [ -d/2 (ln(2 pi s2) + 1) - ln W + sum_i w_i/W ln(weight of i's cluster) ],  s2 = D / (d n)
//   D = sum_i w_i |x_i - c(i)|^2 / mean(w),  W = sum of w
//
// s2 is at least kSmallestVariance of the points' variance around their mean (1 if that is zero): identical points
// would otherwise give infinities, and no threshold between infinities means anything.
#pragma once

#include <span>

#include "simpoint/k_means.h"

namespace simrun::simpoint {

constexpr double kSmallestVariance = 1e-9;
// By so much of their size vectors that are equal can differ once they are normalised and projected: sums of up to some
// thousand products, each good to 1e-16.
constexpr double kRounding = 1e-12;

// Sum over the points of weight times squared distance to the weighted mean: the distortion of one cluster. 0 when it is
// no more than rounding.
double total_distortion(const Points& points, std::span<const double> weights);

// `total`: total_distortion() of the points.
double bic(const Clustering& clustering, std::span<const double> weights, double total);

}  // namespace simrun::simpoint
