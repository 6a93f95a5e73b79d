// Simulation points that simrun or SimPoint 3.2 wrote.
#pragma once

#include <string>
#include <vector>

#include "simpoint/simulation_points.h"

namespace simrun::simpoint {

// From a `.simpoints` and a `.weights` file. Weights that do not sum to 1 (six digits) are scaled. Throws UserError
// with file and line: no such number, a cluster in one file only or twice, weights that are negative or sum to nothing.
std::vector<SimulationPoint> read_points(const std::string& points_path, const std::string& weights_path);

}  // namespace simrun::simpoint
