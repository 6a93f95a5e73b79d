// The files that SimPoint 3.2 writes and its users' scripts read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simpoint/k_means.h"
#include "simpoint/simulation_points.h"

namespace simrun::simpoint {

// `<interval, from 0> <cluster>` lines, by cluster.
// Scripts join the files by the label of the cluster: where points share one (spread()), all points are numbered instead.
std::string points_text(std::span<const SimulationPoint> points);
// `<weight, 6 significant digits> <cluster>` lines, by cluster.
std::string weights_text(std::span<const SimulationPoint> points);
// `<cluster> <distance to its centre>` for each interval; where points are numbered, the number of the point that stands for it: of the points of its
// cluster the one in whose share of the weight it lies, in the order of the run. Clusters without a point have numbers behind those.
std::string labels_text(const Clustering& clustering, std::span<const double> weights, std::span<const SimulationPoint> points);
// `.lpt<coverage>`: what SimPoint puts behind the names of the files of a coverage below 1.
std::string coverage_suffix(double coverage);

}  // namespace simrun::simpoint
