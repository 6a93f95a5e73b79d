#include "cli/phases/simpoint_files.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <numeric>

#include "base/user_error.h"
#include "cli/option_values.h"
#include "cli/print_error.h"
#include "simpoint/read_matrix.h"
#include "simpoint/read_profile.h"

namespace simrun::cli {

namespace {

using simpoint::MatrixForm;
using simpoint::Points;

constexpr const char* kGroup = "SimPoint 3.2's other files";

// Weights that sum to 1 but for rounding stay what they are, so that what was saved is the same to the bit when it is
// loaded.
std::vector<double> scaled(std::vector<double> weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (std::abs(all - 1) < 1e-9) return weights;
  return simpoint::interval_weights(weights, false);
}

// The weight of what lies nearest to each of `centres`.
std::vector<double> weights_of(const Points& centres, const Points& points, const std::vector<double>& weights) {
  const simpoint::Clustering nearest = simpoint::assign(points, weights, centres, true);
  std::vector<double> sums(nearest.k(), 0.0);
  for (size_t i = 0; i < weights.size(); ++i) sums[nearest.labels[i]] += weights[i];
  return sums;
}

simpoint::MatrixFile read(const MatrixPaths& paths) {
  return paths.text.empty() ? simpoint::read_matrix(paths.binary, MatrixForm::kBinary)
                            : simpoint::read_matrix(paths.text, MatrixForm::kText);
}

void write(const MatrixPaths& paths, const Points& rows, const std::vector<double>& weights) {
  if (!paths.text.empty()) simpoint::write_matrix(paths.text, MatrixForm::kText, rows, weights);
  if (!paths.binary.empty()) simpoint::write_matrix(paths.binary, MatrixForm::kBinary, rows, weights);
}

simpoint::ProjectedIntervals load_projected(const MatrixPaths& paths) {
  simpoint::MatrixFile loaded = read(paths);
  const auto rows = static_cast<size_t>(loaded.rows.rows());
  if (loaded.weights.empty()) loaded.weights.assign(rows, 1 / static_cast<double>(rows));
  return {std::move(loaded.rows), std::move(loaded.weights)};
}

simpoint::Projector projector_of(const SimPointFiles& files, const AnalysisOptions& analysis, bool dimensions_given) {
  if (!files.load_projection.given()) return {analysis.dimensions, analysis.projection_seed};
  Points matrix = read(files.load_projection).rows;
  if (dimensions_given && matrix.cols() != analysis.dimensions)
    throw UserError(fmt::format("the projection matrix has {} dimensions, not {} (--dimensions)", matrix.cols(),
                                analysis.dimensions));
  return simpoint::Projector(std::move(matrix));
}

// The centres of intervals that a file puts together, numbered as they come (as SimPoint does it).
Points centres_of(const std::vector<std::string>& labels, const Points& points, const std::vector<double>& weights) {
  std::map<std::string, Eigen::Index> numbers;
  for (const std::string& label : labels) numbers.emplace(label, static_cast<Eigen::Index>(numbers.size()));
  const auto k = static_cast<Eigen::Index>(numbers.size());
  Points centres = Points::Zero(k, points.cols());
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(k);
  for (size_t i = 0; i < labels.size(); ++i) {
    const Eigen::Index c = numbers.at(labels[i]);
    centres.row(c) += weights[i] * points.row(static_cast<Eigen::Index>(i));
    sums[c] += weights[i];
  }
  for (Eigen::Index c = 0; c < k; ++c) centres.row(c) /= sums[c];
  return centres;
}

void check_count(const std::string& path, const char* what, size_t has, size_t intervals) {
  if (has != intervals) throw UserError(fmt::format("{}: {} {} for {} intervals", path, has, what, intervals));
}

}  // namespace

bool saves(const SimPointFiles& f) {
  return f.save_vectors.given() || f.save_projection.given() || !f.save_vector_weights.empty() ||
         !f.save_first_centres.empty() || !f.save_centres.empty();
}

std::vector<NamedFile> named_files(const SimPointFiles& f) {
  return {{"--save-vector-weights", f.save_vector_weights},
          {"--save-init-ctrs", f.save_first_centres},
          {"--save-final-ctrs", f.save_centres},
          {"--save-vectors-txt", f.save_vectors.text},
          {"--save-vectors-bin", f.save_vectors.binary},
          {"--save-proj-matrix-txt", f.save_projection.text},
          {"--save-proj-matrix-bin", f.save_projection.binary},
          {"--load-vectors-txt", f.load_vectors.text},
          {"--load-vectors-bin", f.load_vectors.binary},
          {"--load-proj-matrix-txt", f.load_projection.text},
          {"--load-proj-matrix-bin", f.load_projection.binary},
          {"--load-init-ctrs", f.load_first_centres},
          {"--load-init-labels", f.load_first_labels},
          {"--load-vector-weights", f.load_vector_weights}};
}

void add_simpoint_files(CLI::App& app, SimPointFiles& f) {
  const auto file = [&](const char* name, std::string& to, const char* what) {
    app.add_option(name, to, what)->type_name("FILE")->group(kGroup);
  };
  file("--save-vector-weights", f.save_vector_weights, "Write the weight of each interval here");
  file("--save-init-ctrs", f.save_first_centres, "Write the centres that k-means began with here");
  file("--save-final-ctrs", f.save_centres, "Write the centres of the clusters here");
  file("--save-vectors-txt", f.save_vectors.text, "Write the projected vectors and their weights here, as text");
  file("--save-vectors-bin", f.save_vectors.binary, "The same, binary");
  file("--save-proj-matrix-txt", f.save_projection.text, "Write the projection matrix here, as text");
  file("--save-proj-matrix-bin", f.save_projection.binary, "The same, binary");
  file("--load-vectors-txt", f.load_vectors.text, "Projected vectors instead of a profile, as text");
  file("--load-vectors-bin", f.load_vectors.binary, "The same, binary");
  file("--load-proj-matrix-txt", f.load_projection.text, "Project by this matrix, as text: a row for each block");
  file("--load-proj-matrix-bin", f.load_projection.binary, "The same, binary");
  file("--load-init-ctrs", f.load_first_centres, "Begin k-means with these centres; they say k");
  file("--load-init-labels", f.load_first_labels, "Begin with the clusters that the first word of each line says");
  file("--load-vector-weights", f.load_vector_weights, "The weight of each interval, one in a line");
  app.add_option("--num-fvs", f.vectors, "Intervals that the profile must have (need not be said)")
      ->transform(whole_number(1, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--fv-dim", f.blocks, "Blocks that it has at most (need not be said)")
      ->transform(whole_number(1, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->group(kGroup);
}

std::string contradiction(const CLI::App& app, const SimPointFiles& f, const AnalysisOptions& analysis) {
  const auto given = [&](const std::string& name) { return app.get_option(name)->count() != 0; };
  const auto first_given = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names)
      if (given(name)) return name;
    return "";
  };
  if (given("--load") + given("--load-vectors-txt") + given("--load-vectors-bin") != 1)
    return "one of FILE, --load-vectors-txt and --load-vectors-bin is required";
  if (f.load_vectors.given()) {
    const std::string other =
        first_given({"--dimensions", "--seed-proj", "--load-proj-matrix-txt", "--load-proj-matrix-bin",
                     "--save-proj-matrix-txt", "--save-proj-matrix-bin", "--num-fvs", "--fv-dim"});
    if (!other.empty()) return other + " is for profiles: vectors that are loaded are projected";
    if (analysis.fixed_length == FixedLength::kAuto && f.load_vector_weights.empty())
      return "say --fixed-length on or off: vectors that are loaded have weights of their own";
  }
  if (!f.load_projection.text.empty() && !f.load_projection.binary.empty()) return "one projection matrix, not two";
  if (f.load_projection.given() && given("--seed-proj")) return "--seed-proj does not go with a matrix that is loaded";
  if (!f.load_first_centres.empty() || !f.load_first_labels.empty()) {
    if (!f.load_first_centres.empty() && !f.load_first_labels.empty()) return "first centres or first labels, not both";
    const std::string other =
        first_given({"-k", "--max-k", "--all-k", "--num-init-seeds", "--seed-km", "--init-km", "--bic-threshold"});
    if (!other.empty()) return other + " does not go with first centres or labels: they say k and where to begin";
  }
  if (!f.load_vector_weights.empty() && analysis.fixed_length == FixedLength::kOn)
    return "--fixed-length on makes all weights the same: not with --load-vector-weights";
  if (given("--seed-sample") && !given("--sample-size")) return "--seed-sample is for --sample-size";
  return "";
}

simpoint::ProjectedIntervals load_intervals(const std::string& path, const SimPointFiles& files,
                                            AnalysisOptions& analysis) {
  if (files.load_vectors.given()) return load_projected(files.load_vectors);
  simpoint::Projector projector = projector_of(files, analysis, analysis.dimensions_given);
  const simpoint::ReadProfile read =
      simpoint::read_profile(path, [&](std::span<const simpoint::Entry> entries) { projector.add(entries); });
  for (const std::string& warning : read.warnings) print_error("simrun: warning: {}\n", warning);
  if (files.vectors != 0 && files.vectors != projector.intervals())
    throw UserError(fmt::format("{}: {} intervals, not {} (--num-fvs)", path, projector.intervals(), files.vectors));
  const uint32_t blocks = projector.largest_block();
  if (files.blocks != 0 && files.blocks < blocks)
    throw UserError(fmt::format("{}: block {}, above {} (--fv-dim)", path, blocks, files.blocks));
  if (files.save_projection.given()) write(files.save_projection, projector.matrix(blocks), {});
  analysis.fixed_length = has_fixed_length(analysis, read.profile) ? FixedLength::kOn : FixedLength::kOff;
  return projector.finish(read.profile.intervals);
}

std::vector<double> load_weights(const SimPointFiles& files, const simpoint::ProjectedIntervals& intervals,
                                 const AnalysisOptions& analysis) {
  if (!files.load_vector_weights.empty()) {
    std::vector<double> weights = simpoint::read_weights(files.load_vector_weights);
    check_count(files.load_vector_weights, "weights", weights.size(), intervals.size());
    if (!std::isfinite(std::accumulate(weights.begin(), weights.end(), 0.0)))
      throw UserError(files.load_vector_weights + ": its weights are too large: their sum is no number");
    return scaled(std::move(weights));
  }
  const bool fixed_length = analysis.fixed_length == FixedLength::kOn;
  if (files.load_vectors.given() && !fixed_length) return scaled(intervals.sums);
  return simpoint::interval_weights(intervals.sums, fixed_length);
}

Points load_first_centres(const SimPointFiles& files, const simpoint::ProjectedIntervals& intervals,
                          const std::vector<double>& weights) {
  if (!files.load_first_centres.empty()) return simpoint::read_matrix(files.load_first_centres, MatrixForm::kText).rows;
  if (files.load_first_labels.empty()) return {};
  const std::vector<std::string> labels = simpoint::read_first_words(files.load_first_labels);
  check_count(files.load_first_labels, "labels", labels.size(), intervals.size());
  return centres_of(labels, intervals.points, weights);
}

void save_intervals(const SimPointFiles& files, const simpoint::ProjectedIntervals& intervals,
                    const std::vector<double>& weights) {
  write(files.save_vectors, intervals.points, weights);
  if (!files.save_vector_weights.empty()) simpoint::write_weights(files.save_vector_weights, weights);
}

void save_centres(const SimPointFiles& files, const std::string& suffix, const simpoint::ScoredClustering& scored,
                  const simpoint::ProjectedIntervals& intervals, const std::vector<double>& weights) {
  const auto save = [&](const std::string& path, const Points& centres) {
    if (path.empty()) return;
    simpoint::write_matrix(path + suffix, MatrixForm::kText, centres, weights_of(centres, intervals.points, weights));
  };
  save(files.save_first_centres, scored.first_centres);
  save(files.save_centres, scored.centres);
}

}  // namespace simrun::cli
