// `simrun simpoint`: from frequency vectors to simulation points and weights.
#include <fmt/format.h>

#include <chrono>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/phases/clustering_options.h"
#include "cli/print_error.h"
#include "cli/sub_commands.h"
#include "simpoint/read_profile.h"
#include "simpoint/write_bytes.h"
#include "simpoint/write_points.h"

namespace simrun::cli {

namespace {

struct Files {
  std::string vectors, prefix, points, weights, labels;
  bool quiet = false;
};

constexpr const char* kDescription =
    "Finds the phases of a profile that `simrun bbv` or another tool wrote, and an interval that stands for each\n"
    "(docs/phases.md). Reads SimPoint's text (plain, gzip, zstd) and simrun's HDF5. SimPoint 3.2's own options\n"
    "(-loadFVFile, -maxK, -saveSimpoints, ...) are understood, too.";

Files parse(const Words& words, AnalysisOptions& analysis) {
  CommandLine line("simrun simpoint", "simrun simpoint FILE [-o PREFIX] [OPTIONS]", kDescription);
  Files files;
  CLI::App& app = line.app();
  app.add_option("FILE,--load", files.vectors, "Frequency vectors; - is standard input")->required()->type_name("FILE");
  app.add_option("-o,--output", files.prefix, "Write PREFIX.simpoints, PREFIX.weights and PREFIX.labels")
      ->type_name("PREFIX");
  app.add_option("--save-simpoints", files.points, "Write the points here")->type_name("FILE");
  app.add_option("--save-weights", files.weights, "Write their weights here")->type_name("FILE");
  app.add_option("--save-labels", files.labels, "Write the cluster of each interval here")->type_name("FILE");
  app.add_flag("-q,--quiet", files.quiet, "No report; warnings and errors only");
  add_analysis_options(app, analysis);
  line.parse(translate_simpoint_options(words));
  if (!files.prefix.empty()) {
    if (files.points.empty()) files.points = files.prefix + ".simpoints";
    if (files.weights.empty()) files.weights = files.prefix + ".weights";
    if (files.labels.empty()) files.labels = files.prefix + ".labels";
  }
  if (files.quiet && files.points.empty() && files.weights.empty() && files.labels.empty())
    line.usage_error("nothing to write and nothing to say: give -o PREFIX");
  return files;
}

void write(const Files& files, const AnalysisOptions& analysis, const simpoint::Clustering& clustering,
           const std::vector<simpoint::SimulationPoint>& points,
           const std::vector<simpoint::SimulationPoint>& covering) {
  const auto pair = [&](const std::vector<simpoint::SimulationPoint>& some, const std::string& suffix) {
    if (!files.points.empty()) simpoint::write_whole(files.points + suffix, simpoint::points_text(some));
    if (!files.weights.empty()) simpoint::write_whole(files.weights + suffix, simpoint::weights_text(some));
  };
  pair(points, "");
  if (analysis.coverage < 1) pair(covering, simpoint::coverage_suffix(analysis.coverage));
  if (!files.labels.empty()) simpoint::write_whole(files.labels, simpoint::labels_text(clustering));
}

void report(const simpoint::ClusteringChoice& choice, const std::vector<simpoint::SimulationPoint>& points,
            const AnalysisOptions& analysis) {
  fmt::print("     k               BIC   distortion\n");
  for (const auto& scored : choice.examined)
    fmt::print("{:>6} {:>17.2f} {:>12.6g}{}\n", scored.clustering.k(), scored.bic, scored.clustering.distortion,
               &scored == &choice.examined[choice.chosen] ? "  <- chosen" : "");
  fmt::print("\n   cluster     interval    weight\n");
  for (const auto& point : points)
    fmt::print("{:>10} {:>12} {:>8.3f}%\n", point.cluster, point.interval, 100 * point.weight);
  if (analysis.coverage < 1)
    fmt::print("{} of them cover {:g} of the run\n", simpoint::cover(points, analysis.coverage).size(),
               analysis.coverage);
  if (choice.examined.back().clustering.k() - choice.clustering().k() <= choice.clustering().k() / 10 &&
      choice.clustering().k() > 1 && analysis.clustering.ks.empty())
    fmt::print("k is close to the most that were tried: try --max-k {}\n", 2 * analysis.clustering.max_k);
}

}  // namespace

int simpoint_command(const Words& words) {
  AnalysisOptions analysis;
  const Files files = parse(words, analysis);
  simpoint::Projector projector(analysis.dimensions, analysis.projection_seed);
  const simpoint::ReadProfile read =
      simpoint::read_profile(files.vectors, [&](std::span<const simpoint::Entry> entries) { projector.add(entries); });
  for (const std::string& warning : read.warnings) print_error("simrun: warning: {}\n", warning);
  const simpoint::ProjectedIntervals intervals = projector.finish();
  if (intervals.size() == 1) print_error("simrun: warning: {}: one interval: nothing to choose from\n", files.vectors);
  const std::vector<double> weights = simpoint::interval_weights(intervals.sums, analysis.fixed_length);
  const simpoint::ClusteringChoice choice = simpoint::choose_clustering(intervals.points, weights, analysis.clustering);
  auto points = simpoint::select_points(choice.clustering(), weights, analysis.selection);
  auto covering = simpoint::cover(points, analysis.coverage);
  if (analysis.points != 0)
    for (auto* some : {&points, &covering})
      *some = simpoint::spread(choice.clustering(), weights, *some, analysis.points);
  write(files, analysis, choice.clustering(), points, covering);
  if (!files.quiet) report(choice, points, analysis);
  return 0;
}

}  // namespace simrun::cli
