#include "cli/phases/clustering_options.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

#include "cli/option_values.h"

namespace simrun::cli {

namespace {

constexpr uint64_t kMostDimensions = 1u << 16;  // many times what the projection of any program needs

using simpoint::Initialisation;

// Numbers with colons between them: one to three.
bool parse_numbers(const std::string& text, std::vector<int64_t>& numbers) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    const auto [behind, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc() || std::abs(numbers.back()) > 1'000'000) return false;
    if (behind == end) return numbers.size() <= 3;
    if (*behind != ':') return false;
    at = behind + 1;
  }
}

// SimPoint's ranges: R(,R)*, R = k | a:b | a:step:b; downwards, too, whatever the step's sign.
bool parse_range(const std::string& text, std::vector<uint32_t>& ks) {
  std::vector<int64_t> numbers;
  if (!parse_numbers(text, numbers)) return false;
  const int64_t from = numbers.front(), to = numbers.back();
  const int64_t step = numbers.size() == 3 ? std::abs(numbers[1]) : 1;
  if (from < 1 || to < 1 || step == 0) return false;
  for (int64_t k = from; from <= to ? k <= to : k >= to; k += from <= to ? step : -step)
    ks.push_back(static_cast<uint32_t>(k));
  return true;
}

CLI::Option* add_ks(CLI::App& app, simpoint::ClusteringOptions& o) {
  // Split here: of words that CLI11 splits it takes one only.
  const auto take = [&o](const std::vector<std::string>& words) {
    if (words.back() == "search") return true;
    std::istringstream ranges(words.back());
    for (std::string range; std::getline(ranges, range, ',');)
      if (!parse_range(range, o.ks))
        throw CLI::ValidationError(
            "-k", range + ": expected search, or numbers and ranges: 5 or 1:10 or 2:2:20, with commas");
    return true;
  };
  return app
      .add_option("-k", take, "Numbers of clusters to try: search (bisect up to --max-k), or 5 or 1:10 or 2:2:20,30")
      ->type_name("RANGES")
      ->default_str("search");
}

}  // namespace

bool has_fixed_length(const AnalysisOptions& options, const simpoint::Profile& profile) {
  if (options.fixed_length != FixedLength::kAuto) return options.fixed_length == FixedLength::kOn;
  return profile.kind == simpoint::IntervalKind::kFixed && profile.intervals.empty();   // of what says no lengths
}

void add_analysis_options(CLI::App& app, AnalysisOptions& o) {
  static const Choices<Initialisation> starts = {{"plusplus", Initialisation::kPlusPlus},
                                                 {"samp", Initialisation::kSample},
                                                 {"ff", Initialisation::kFurthestFirst}};
  static const Choices<FixedLength> lengths = {
      {"on", FixedLength::kOn}, {"off", FixedLength::kOff}, {"auto", FixedLength::kAuto}};
  constexpr const char* kGroup = "Analysis";
  const CLI::Validator positive = whole_number(1, std::numeric_limits<uint32_t>::max());
  const CLI::Validator any_number = whole_number(0, std::numeric_limits<uint64_t>::max());
  simpoint::ClusteringOptions& c = o.clustering;
  add_ks(app, c)->group(kGroup);
  app.add_option("--max-k", c.max_k, "Most clusters; half of the intervals at most")
      ->transform(positive)
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_flag_callback(
         "--all-k", [&c] { c.search = false; }, "Try every k up to --max-k")
      ->group(kGroup);
  app.add_option("--bic-threshold", c.threshold, "Smallest k whose BIC reaches this part of the range of BICs")
      ->transform(real_number(0, 1))
      ->type_name("PART")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--least-gain", c.least_gain,
                 "One phase unless BIC gains this for each interval and dimension, or if intervals are spread normally (0: as "
                 "SimPoint)")
      ->transform(real_number(0, 1e300))
      ->type_name("GAIN")
      ->capture_default_str()
      ->group(kGroup);
  add_choice(app, "--init-km", c.initialisation, "First centres: plusplus (k-means++), samp, ff (furthest first)", starts)
      ->default_str("plusplus")
      ->group(kGroup);
  app.add_option("--num-init-seeds", c.seeds, "Clusterings for each k, of which the best counts")
      ->transform(positive)
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--seed-km", c.seed, "Seed of the clustering")
      ->transform(any_number)
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--seed-proj", o.projection_seed, "Seed of the projection")
      ->transform(any_number)
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  static const std::map<std::string, uint32_t> endless = {{"off", std::numeric_limits<uint32_t>::max()}};
  app.add_option("--iters", c.iterations, "Most iterations of k-means; off: until no label changes")
      ->transform(positive)
      ->transform(CLI::Transformer(endless).description(""))  // before it
      ->type_name("N|off")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option_function<uint32_t>(
         "--dimensions",
         [&o](const uint32_t& dimensions) {
           o.dimensions = dimensions;
           o.dimensions_given = true;
         },
         "Dimensions after the random projection; 0: none")
      ->transform(whole_number(0, kMostDimensions))
      ->type_name("N")
      ->default_str(std::to_string(o.dimensions))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--sample-size", c.sample, "Cluster this many intervals, drawn by weight, then label all (0: all)")
      ->transform(any_number)
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--seed-sample", c.sample_seed, "Seed of the draw of --sample-size")
      ->transform(any_number)
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  add_choice(app, "--fixed-length", o.fixed_length,
             "on: intervals weigh the same; off: by their instructions; auto: off where the profile says how many each has",
             lengths)
      ->default_str("auto")
      ->group(kGroup);
  app.add_option("--coverage", o.coverage,
                 "The largest clusters that cover this part of the run, above 0 to 1: also write their points (simpoint); only these\n"
                 "have regions (pinpoints)")
      ->transform(real_number(1e-6, 1))
      ->type_name("PART")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option(
         "--points", o.points,
         "About so many points altogether: heavy phases get several, spread over the run (default: one for each; pinpoints:\n"
         "more for phases whose intervals are not alike, up to a twentieth of them and 100 in all)")
      ->transform(positive)
      ->type_name("N")
      ->group(kGroup);
  app.add_flag_callback(
         "--no-calibration", [&o] { o.calibrates = false; },
         "Give each point exactly its cluster's weight. Otherwise, with a profile of --distances, weights are changed a little so that\n"
         "together the points reference lines as far apart as the whole run does")
      ->group(kGroup);
  app.add_option(
         "--early", o.selection.early,
         "Prefer early points: 0 the nearest to the centre, 1 the first that is nearer than half of its cluster")
      ->transform(real_number(0, 1))
      ->type_name("PART")
      ->capture_default_str()
      ->group(kGroup);
}

std::vector<std::string> translate_simpoint_options(const std::vector<std::string>& words) {
  static const std::map<std::string, std::string> names = {{"-loadFVFile", "--load"},
                                                           {"-maxK", "--max-k"},
                                                           {"-bicThreshold", "--bic-threshold"},
                                                           {"-initkm", "--init-km"},
                                                           {"-numInitSeeds", "--num-init-seeds"},
                                                           {"-seedkm", "--seed-km"},
                                                           {"-seedproj", "--seed-proj"},
                                                           {"-iters", "--iters"},
                                                           {"-dim", "--dimensions"},
                                                           {"-sampleSize", "--sample-size"},
                                                           {"-fixedLength", "--fixed-length"},
                                                           {"-coveragePct", "--coverage"},
                                                           {"-saveSimpoints", "--save-simpoints"},
                                                           {"-saveSimpointWeights", "--save-weights"},
                                                           {"-saveLabels", "--save-labels"},
                                                           {"-saveAll", "--save-all"},
                                                           {"-saveVectorWeights", "--save-vector-weights"},
                                                           {"-loadVectorWeights", "--load-vector-weights"},
                                                           {"-saveInitCtrs", "--save-init-ctrs"},
                                                           {"-loadInitCtrs", "--load-init-ctrs"},
                                                           {"-loadInitLabels", "--load-init-labels"},
                                                           {"-saveFinalCtrs", "--save-final-ctrs"},
                                                           {"-saveVectorsTxtFmt", "--save-vectors-txt"},
                                                           {"-saveVectorsBinFmt", "--save-vectors-bin"},
                                                           {"-loadVectorsTxtFmt", "--load-vectors-txt"},
                                                           {"-loadVectorsBinFmt", "--load-vectors-bin"},
                                                           {"-saveProjMatrixTxtFmt", "--save-proj-matrix-txt"},
                                                           {"-saveProjMatrixBinFmt", "--save-proj-matrix-bin"},
                                                           {"-loadProjMatrixTxtFmt", "--load-proj-matrix-txt"},
                                                           {"-loadProjMatrixBinFmt", "--load-proj-matrix-bin"},
                                                           {"-numFVs", "--num-fvs"},
                                                           {"-FVDim", "--fv-dim"},
                                                           {"-seedsample", "--seed-sample"}};
  std::vector<std::string> translated;
  for (size_t i = 0; i < words.size(); ++i) {
    // Files may be compressed without being told so; level of talk: one.
    if (words[i] == "-inputVectorsGzipped") continue;
    if (words[i] == "-verbose") {
      ++i;
      continue;
    }
    const auto known = names.find(words[i]);
    translated.push_back(known == names.end() ? words[i] : known->second);
    if (translated.back() == "--dimensions" && i + 1 < words.size() && words[i + 1] == "noProject") {
      translated.push_back("0");
      ++i;
    }
  }
  return translated;
}

}  // namespace simrun::cli
