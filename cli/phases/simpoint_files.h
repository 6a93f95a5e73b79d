// The files of SimPoint 3.2 that few need: vectors, weights, centres and projection matrices, there and back.
#pragma once

#include <string>
#include <vector>

#include "cli/output_file.h"
#include "cli/phases/clustering_options.h"
#include "simpoint/projection.h"
#include "simpoint/write_matrix.h"

namespace CLI {
class App;
}

namespace simrun::cli {

// Text or binary: what is given of the two.
struct MatrixPaths {
  std::string text, binary;
  bool given() const { return !text.empty() || !binary.empty(); }
};

struct SimPointFiles {
  std::string save_vector_weights, save_first_centres, save_centres;
  std::string load_vector_weights, load_first_centres, load_first_labels;
  MatrixPaths save_vectors, save_projection, load_vectors, load_projection;
  uint64_t vectors = 0, blocks = 0;  // that the profile is said to have; 0: not said
};

// Something is to be written.
bool saves(const SimPointFiles& files);
// All of them.
std::vector<NamedFile> named_files(const SimPointFiles& files);

void add_simpoint_files(CLI::App& app, SimPointFiles& files);
// Empty, or what of the command line does not go together.
std::string contradiction(const CLI::App& app, const SimPointFiles& files, const AnalysisOptions& analysis);

// What is to be clustered: the profile at `path`, or projected vectors. Throws UserError. Saves the projection matrix.
// After this `analysis.fixed_length` is what the profile says, where that was left to it.
simpoint::ProjectedIntervals load_intervals(const std::string& path, const SimPointFiles& files,
                                            AnalysisOptions& analysis);
// The weight of each; they sum to 1: what a file says, or the intervals themselves.
std::vector<double> load_weights(const SimPointFiles& files, const simpoint::ProjectedIntervals& intervals,
                                 const AnalysisOptions& analysis);
// Where to begin, if it is said; else no rows.
simpoint::Points load_first_centres(const SimPointFiles& files, const simpoint::ProjectedIntervals& intervals,
                                    const std::vector<double>& weights);

void save_intervals(const SimPointFiles& files, const simpoint::ProjectedIntervals& intervals,
                    const std::vector<double>& weights);
// `suffix`: behind the names.
void save_centres(const SimPointFiles& files, const std::string& suffix, const simpoint::ScoredClustering& scored,
                  const simpoint::ProjectedIntervals& intervals, const std::vector<double>& weights);

}  // namespace simrun::cli
