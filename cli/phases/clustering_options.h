// The options of the analysis: of `simpoint` and `pinpoints`, under SimPoint 3.2's names where it has them.
#pragma once

#include <string>
#include <vector>

#include "simpoint/choose_clustering.h"
#include "simpoint/profile.h"
#include "simpoint/simulation_points.h"

namespace CLI {
class App;
}

namespace simrun::cli {

enum class FixedLength : uint8_t { kOff, kOn, kAuto };

struct AnalysisOptions {
  simpoint::ClusteringOptions clustering;
  simpoint::SelectionOptions selection;
  uint32_t dimensions = 15;               // 0: no projection
  bool dimensions_given = false;          // said by the user
  uint64_t projection_seed = 2042712918;  // SimPoint's own default
  FixedLength fixed_length = FixedLength::kAuto;
  double coverage = 1;
  uint64_t points = 0;  // altogether, about; 0: one for each phase
  bool calibrates = true;  // weights, by what the profile says of far references (simpoint/calibrate.h)
};

// Whether intervals weigh the same: as the options say, else when they are of the kind `fixed` and the profile does not say how long each is.
bool has_fixed_length(const AnalysisOptions& options, const simpoint::Profile& profile);

void add_analysis_options(CLI::App& app, AnalysisOptions& options);

// `-maxK 30` as SimPoint 3.2 writes its options -> `--max-k 30` as CLI11 does. Words that are not known stay.
std::vector<std::string> translate_simpoint_options(const std::vector<std::string>& words);

}  // namespace simrun::cli
