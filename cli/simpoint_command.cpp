// `simrun simpoint`: from frequency vectors to simulation points and weights.
#include <fmt/format.h>

#include <chrono>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/output_file.h"
#include "cli/phases/clustering_options.h"
#include "cli/phases/simpoint_files.h"
#include "cli/print_error.h"
#include "cli/sub_commands.h"
#include "simpoint/calibrate.h"
#include "simpoint/write_bytes.h"
#include "simpoint/write_points.h"

namespace simrun::cli {

namespace {

struct Files {
  std::string vectors, prefix, points, weights, labels;
  SimPointFiles others;
  bool all = false;  // of each k
  bool quiet = false;
};

constexpr const char* kSimPointDescription =
    "Finds the phases of a profile that `simrun bbv` or another tool wrote, and an interval that stands for each\n"
    "(docs/phases.md). Reads SimPoint's text (plain, gzip, zstd) and simrun's HDF5. SimPoint 3.2's own options\n"
    "(-loadFVFile, -maxK, -saveSimpoints, ...) are understood, too.";

Files parse_simpoint(const Words& words, AnalysisOptions& analysis) {
  CommandLine line("simrun simpoint", "simrun simpoint FILE [-o PREFIX] [OPTIONS]", kSimPointDescription);
  Files files;
  CLI::App& app = line.app();
  app.add_option("FILE,--load", files.vectors, "Frequency vectors; - is standard input")->type_name("FILE");
  app.add_option("-o,--output", files.prefix, "Write PREFIX.simpoints, PREFIX.weights and PREFIX.labels")
      ->type_name("PREFIX");
  app.add_option("--save-simpoints", files.points, "Write the points here")->type_name("FILE");
  app.add_option("--save-weights", files.weights, "Write their weights here")->type_name("FILE");
  app.add_option("--save-labels", files.labels, "Write the cluster of each interval here")->type_name("FILE");
  app.add_flag("--save-all", files.all,
               "Write what is of a clustering for each k that is tried, as FILE.run_R_k_K (the R-th that was tried)");
  app.add_flag("-q,--quiet", files.quiet, "No report; warnings and errors only");
  add_simpoint_files(app, files.others);
  add_analysis_options(app, analysis);
  line.parse(translate_simpoint_options(words));
  if (const std::string what = contradiction(app, files.others, analysis); !what.empty()) line.usage_error(what);
  if (!files.prefix.empty()) {
    if (files.points.empty()) files.points = files.prefix + ".simpoints";
    if (files.weights.empty()) files.weights = files.prefix + ".weights";
    if (files.labels.empty()) files.labels = files.prefix + ".labels";
  }
  if (files.quiet && files.points.empty() && files.weights.empty() && files.labels.empty() && !saves(files.others))
    line.usage_error("nothing to write and nothing to say: give -o PREFIX");
  std::vector<NamedFile> all = named_files(files.others);
  all.insert(all.end(), {{"FILE", files.vectors == "-" ? "" : files.vectors},
                         {"--save-simpoints", files.points},
                         {"--save-weights", files.weights},
                         {"--save-labels", files.labels}});
  refuse_same_file(all);
  return files;
}

// What was found with one k.
struct Selection {
  std::vector<simpoint::SimulationPoint> points, covering;
  std::vector<simpoint::SimulationPoint> weighed;  // `points` with the weights that are written
};

Selection select(const simpoint::Clustering& clustering, const std::vector<double>& weights, const simpoint::Points& far,
                 const AnalysisOptions& analysis) {
  Selection made;
  made.points = simpoint::select_points(clustering, weights, analysis.selection);
  made.covering = simpoint::cover(made.points, analysis.coverage);
  if (analysis.points != 0)
    for (auto* some : {&made.points, &made.covering})
      *some = simpoint::spread(clustering, weights, *some, analysis.points);
  made.weighed = analysis.calibrates ? simpoint::calibrate(made.points, weights, far) : made.points;
  return made;
}

// `suffix`: behind all names.
void write(const Files& files, const std::string& suffix, const AnalysisOptions& analysis,
           const simpoint::Clustering& clustering, const std::vector<double>& weights, const Selection& selection) {
  const auto pair = [&](const std::vector<simpoint::SimulationPoint>& some, const std::string& behind) {
    if (!files.points.empty()) simpoint::write_whole(files.points + behind, simpoint::points_text(some));
    if (!files.weights.empty()) simpoint::write_whole(files.weights + behind, simpoint::weights_text(some));
  };
  pair(selection.weighed, suffix);
  if (analysis.coverage < 1) pair(selection.covering, simpoint::coverage_suffix(analysis.coverage) + suffix);
  if (!files.labels.empty()) simpoint::write_whole(files.labels + suffix, simpoint::labels_text(clustering, weights, selection.points));
}

// --save-all: every k, one after the other, so that no more than one is in memory.
void write_all(const Files& files, const AnalysisOptions& analysis, const simpoint::ClusteringChoice& choice,
               const simpoint::ProjectedIntervals& intervals, const std::vector<double>& weights) {
  for (const auto& scored : choice.examined) {
    const std::string suffix = fmt::format(".run_{}_k_{}", scored.run, scored.k());
    const auto clustering = simpoint::assign(intervals.points, weights, scored.centres, true);
    write(files, suffix, analysis, clustering, weights, select(clustering, weights, intervals.far, analysis));
    save_centres(files.others, suffix, scored, intervals, weights);
  }
}

void report(const simpoint::ClusteringChoice& choice, const Selection& selection, const AnalysisOptions& analysis) {
  fmt::print("     k               BIC   distortion\n");
  for (const auto& scored : choice.examined)
    fmt::print("{:>6} {:>17.2f} {:>12.6g}{}\n", scored.k(), scored.bic, scored.distortion,
               &scored == &choice.examined[choice.chosen] ? "  <- chosen" : "");
  fmt::print("\n   cluster     interval    weight\n");
  for (const auto& point : selection.weighed)
    fmt::print("{:>10} {:>12} {:>8.3f}%\n", point.cluster, point.interval, 100 * point.weight);
  if (analysis.coverage < 1)
    fmt::print("{}{} cover {:g} of the run\n", selection.covering.size(), analysis.points == 0 ? " of them" : " points",
               analysis.coverage);
  const uint32_t k = choice.clustering.k();
  const uint32_t most = analysis.clustering.max_k;
  if (simpoint::are_few_intervals(choice, analysis.clustering))
    fmt::print("as many phases as there can be of {} intervals: shorter intervals would tell which are alike\n", choice.clustering.labels.size());
  else if (choice.examined.back().k() == most && most - k <= k / 10 && k > 1 && choice.examined.size() > 1 &&
           analysis.clustering.ks.empty())
    fmt::print("k is close to the most that were tried: try --max-k {}\n", 2 * most);
  if (const uint32_t given = simpoint::greatest_k_lowered(choice, analysis.clustering))
    fmt::print("-k {} made {} clusters of {} intervals: others would have none\n", given, choice.examined.back().k(), choice.clustering.labels.size());
}

}  // namespace

int simpoint_command(const Words& words) {
  AnalysisOptions analysis;
  const Files files = parse_simpoint(words, analysis);
  const simpoint::ProjectedIntervals intervals = load_intervals(files.vectors, files.others, analysis);
  if (intervals.size() == 1) print_error("simrun: warning: {}: one interval: nothing to choose from\n", files.vectors);
  const std::vector<double> weights = load_weights(files.others, intervals, analysis);
  save_intervals(files.others, intervals, weights);
  analysis.clustering.first_centres = load_first_centres(files.others, intervals, weights);
  const simpoint::ClusteringChoice choice = simpoint::choose_clustering(intervals.points, weights, analysis.clustering);
  const Selection selection = select(choice.clustering, weights, intervals.far, analysis);
  if (files.all) {
    write_all(files, analysis, choice, intervals, weights);
  } else {
    write(files, "", analysis, choice.clustering, weights, selection);
    save_centres(files.others, "", choice.examined[choice.chosen], intervals, weights);
  }
  if (!files.quiet) report(choice, selection, analysis);
  return 0;
}

}  // namespace simrun::cli
