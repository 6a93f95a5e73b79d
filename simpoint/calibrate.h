// Weights of points, changed a little so that the points together reference lines as far apart as the whole run does.
#pragma once

#include <span>
#include <vector>

#include "simpoint/projection.h"
#include "simpoint/simulation_points.h"

namespace simrun::simpoint {

// `points` with the weights w that deviate least from those they have, by the sum of (w - w0)^2 / w0, while the sums of w times what is known
// of each point's far references come near what all intervals have (calibration: Deville and Saerndal, JASA 1992; not exactly, as in ridge
// regression, so that few points are not stretched for it). Each is held between a quarter and four times what it was, then all are scaled to sum to
// what they summed to. Unchanged when nothing is known.
// `weights`: of each interval; `far`: its far references for each instruction (ProjectedIntervals).
std::vector<SimulationPoint> calibrate(std::vector<SimulationPoint> points, std::span<const double> weights, const Points& far);

}  // namespace simrun::simpoint
