// Phases over time as one HTML file without anything outside it, and as one picture (SVG): a strip of clusters, the
// regions, and figures by interval where the whole run was simulated.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simpoint/regions.h"

namespace simrun::cli {

struct PlotLine {
  std::string name;
  std::vector<double> by_interval;
};

std::string phase_plot(const std::string& title, std::span<const uint32_t> labels, const simpoint::RegionPlan& plan,
                       std::span<const PlotLine> lines, const std::string& table);

std::string phase_picture(const std::string& title, std::span<const uint32_t> labels, const simpoint::RegionPlan& plan,
                          std::span<const PlotLine> lines);

}  // namespace simrun::cli
