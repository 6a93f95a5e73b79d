#include "cli/phases/pinpoints_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/user_error.h"
#include "cli/phases/phase_plot.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

namespace {

using nlohmann::json;
using simpoint::Counts;
using simpoint::Region;

// The counts of each region that was found again, alone and with its warm-up.
struct RegionCounts {
  std::vector<const Region*> regions;
  std::vector<Counts> alone, with_warm_up;
  std::vector<double> weights;  // of those as long as they were (stand_for_all)
  std::vector<uint32_t> clusters;
  std::vector<uint32_t> lost, lost_phases;  // regions that were not found again, and of these those whose phase has none now
  double represented = 1;                   // of what phases with regions weigh, by phases of which one was found again
};

// "region 3 was", "regions 3, 5 were".
std::string were(const std::vector<uint32_t>& regions, const char* of = "") {
  return fmt::format("region{} {}{} {}", regions.size() == 1 ? "" : "s", fmt::join(regions, ", "), of, regions.size() == 1 ? "was" : "were");
}

double weight_of(const Findings& found, const Region& region, const Counts& measured) {
  return simpoint::weight_as_measured(region.weight, found.weights[region.interval],
                                      static_cast<double>(region.length), measured[0]);
}

// How much larger a part of all instructions an interval is than of those that are counted (--leave-out).
double all_for_counted(const simpoint::Profile& profile, uint64_t counted, const simpoint::Interval& interval) {
  if (interval.counted() == 0) return 1;   // it weighs nothing
  const double all = static_cast<double>(interval.length) / static_cast<double>(profile.instructions);
  return all / (static_cast<double>(interval.counted()) / static_cast<double>(counted));
}

// `weights` of `regions`, which also stand for the others of their phases, so that they sum to 1; then of all instructions (to 1 on average over
// the choice of regions). Returns what phases with a region weigh.
double stand_for_all(const Findings& found, const std::vector<const Region*>& regions, std::vector<double>& weights) {
  std::map<uint32_t, double> all, there;   // by phase
  for (const Region& r : found.plan.regions) all[r.cluster] += r.weight;
  for (const Region* r : regions) there[r->cluster] += r->weight;
  for (size_t i = 0; i < regions.size(); ++i) weights[i] *= all[regions[i]->cluster] / there[regions[i]->cluster];
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  if (const uint64_t counted = simpoint::counted_instructions(found.profile); counted != found.profile.instructions)
    for (size_t i = 0; i < regions.size(); ++i) weights[i] *= all_for_counted(found.profile, counted, found.profile.intervals[regions[i]->interval]);
  double represented = 0;
  for (const auto& [cluster, weight] : there) represented += all[cluster];
  return represented;
}

RegionCounts region_counts(const Findings& found) {
  RegionCounts counts;
  for (const Region& r : found.plan.regions) {
    std::vector<Counts> parts;
    for (size_t i = 0; i < found.plan.changes.size(); ++i) {
      const uint64_t interval = found.plan.changes[i].interval;
      if (interval >= r.warm_up_interval && interval <= r.interval) parts.push_back(found.stretches[i]);
    }
    CHECK(!parts.empty());
    if (!(parts.back()[0] > 0)) {
      counts.lost.push_back(r.id);
      continue;
    }
    counts.regions.push_back(&r);
    counts.alone.push_back(parts.back());
    counts.with_warm_up.push_back(simpoint::sum_of(parts));
    counts.weights.push_back(weight_of(found, r, parts.back()));
    counts.clusters.push_back(r.cluster);
  }
  const double represented = stand_for_all(found, counts.regions, counts.weights);
  if (represented < 0.9)
    throw UserError(fmt::format("{} not found again, and of phases that are {:.0f}% of the run none: the runs differ too much. Of one "
                                "run, recorded, all is found (--record)",
                                were(counts.lost, " of the profile"), 100 * (1 - represented)));
  if (counts.lost.empty()) return counts;
  counts.represented = represented;
  for (const Region& r : found.plan.regions)
    if (std::find(counts.lost.begin(), counts.lost.end(), r.id) != counts.lost.end() &&
        std::find(counts.clusters.begin(), counts.clusters.end(), r.cluster) == counts.clusters.end())
      counts.lost_phases.push_back(r.id);
  return counts;
}

// Of the run's instructions, those in regions that were found again.
double measured_part(const Findings& found, const RegionCounts& counts) {
  double sum = 0;
  for (const Region* r : counts.regions) sum += static_cast<double>(r->length);
  return sum / static_cast<double>(found.profile.instructions);
}

// The same with warm-ups. What was not come by was not simulated.
double simulated_part(const Findings& found) {
  const auto& changes = found.plan.changes;
  double sum = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].stage == simpoint::Stage::kSkip || !(found.stretches[i][0] > 0)) continue;
    const uint64_t end =
        i + 1 < changes.size() ? found.profile.intervals[changes[i + 1].interval].start : found.profile.instructions;
    sum += static_cast<double>(end - found.profile.intervals[changes[i].interval].start);
  }
  return sum / static_cast<double>(found.profile.instructions);
}

// Who stands for those that are lost.
std::string about_lost(const Findings& found, const RegionCounts& counts) {
  std::vector<uint32_t> others;
  std::set_difference(counts.lost.begin(), counts.lost.end(), counts.lost_phases.begin(), counts.lost_phases.end(), std::back_inserter(others));
  std::string text;
  if (others.size() == 1) text += were(others) + " not found again: the others of its phase stand for it\n";
  if (others.size() > 1) text += were(others) + " not found again: the others of their phases stand for them\n";
  if (!counts.lost_phases.empty())
    text += fmt::format("{} not found again, nor any other of {}, {:.2f}% of the run: figures are of the others\n", were(counts.lost_phases),
                        counts.lost_phases.size() == 1 ? "its phase" : "their phases", 100 * found.covered * (1 - counts.represented));
  return text;
}

// By the same regions in another run. One that it did not come by (its end came before its begin) is left out.
template <class RowOf>
Counts prediction_by(const Findings& found, const RegionCounts& counts, const char* what, RowOf&& row_of) {
  std::vector<const Region*> regions;
  std::vector<Counts> rows;
  std::vector<double> weights;
  for (const Region* region : counts.regions) {
    const Counts& row = row_of(*region);
    if (!(row[0] > 0)) continue;
    regions.push_back(region);
    rows.push_back(row);
    weights.push_back(weight_of(found, *region, row));
  }
  if (rows.empty()) throw UserError(fmt::format("{} no region of the profile: the runs differ too much", what));
  stand_for_all(found, regions, weights);
  return simpoint::predict(rows, weights);
}

// Out of the whole run: what sampling alone does, with caches as they were.
Counts warm_prediction(const Findings& found, const RegionCounts& counts) {
  return prediction_by(found, counts, "the whole run came by", [&](const Region& r) { return found.whole[r.interval]; });
}

// From their stored states and traces.
Counts stored_prediction(const Findings& found, const RegionCounts& counts) {
  return prediction_by(found, counts, "the traces hold", [&](const Region& r) { return found.stored[r.id - 1]; });
}

// Half the width of the interval that holds the figure of a run with warm caches 95 times of 100, as far as regions of
// one phase differ; negative: unknown.
double uncertainty(const Figure& figure, const Findings& found, const RegionCounts& counts) {
  if (found.has_unknown_spread) return -1;
  std::vector<double> values;
  for (const Counts& region : counts.alone) values.push_back(figure.value(region));
  return simpoint::confidence_95(values, counts.weights, counts.clusters);
}

json regions_json(const RegionCounts& counts, const std::vector<Figure>& figures) {
  json list = json::array();
  for (size_t i = 0; i < counts.regions.size(); ++i) {
    const Region& r = *counts.regions[i];
    json entry = {{"id", r.id},         {"phase", r.cluster},   {"interval", r.interval}, {"start", r.start},
                  {"length", r.length}, {"warm_up", r.warm_up}, {"weight", r.weight},     {"multiplier", r.multiplier}};
    for (const Figure& figure : figures)
      entry["figures"][figure.name] = {{"region", figure.value(counts.alone[i])},
                                       {"with_warm_up", figure.value(counts.with_warm_up[i])}};
    list.push_back(std::move(entry));
  }
  return list;
}

std::vector<PlotLine> plot_lines(const Findings& found, const std::vector<Figure>& figures) {
  std::vector<PlotLine> lines;
  for (const Figure& figure : figures) {
    if (found.whole.empty()) break;
    PlotLine line{figure.name, {}};
    for (const Counts& row : found.whole) line.by_interval.push_back(row[0] > 0 ? figure.value(row) : 0);
    lines.push_back(std::move(line));
  }
  return lines;
}

// Figures that are off because the caches are colder at the regions than in the whole run: a sentence about them, or nothing.
std::string cold_start(std::span<const std::string> cold) {
  if (cold.empty()) return {};
  return fmt::format("{}: off by the cold start: longer warm-ups (--warm-up) fill the caches, --snapshots stores what they hold", fmt::join(cold, ", "));
}

// Figures that are off with warm caches too.
std::string by_sampling(std::span<const std::string> sampled) {
  if (sampled.empty()) return {};
  return fmt::format("{}: off by what the regions are: more of them (--points), or other intervals, may stand for the run better", fmt::join(sampled, ", "));
}

// Threads may share the work between two markers otherwise in each run: then even what they execute there is other code.
constexpr const char* kOtherWork =
    "between the same markers the threads did other work than in the profile: of one run, recorded, that cannot be (--record)";

std::string foot(const Findings& found, const RegionCounts& counts, const std::vector<std::string>& remarks) {
  std::string text =
      fmt::format("{} region{}: {:.2f}% of {} instructions measured, {:.2f}% with warm-up\n", counts.regions.size(), counts.regions.size() == 1 ? "" : "s",
                  100 * measured_part(found, counts), found.profile.instructions, 100 * simulated_part(found));
  text += "+-: 95% confidence from how much regions of one phase differ; ?: too few phases have several (--points)\n";
  if (found.plan.regions.size() > 1)
    text += "regions: caches as earlier regions and the warm-up leave them; a region's trace by itself begins with empty ones.\n";
  if (!found.whole.empty())
    text += "error: % of the whole run's figure; *: of an MPKI below 1, hundredths of 1. warm: the same regions with caches as in the whole run.\n";
  if (!found.stored.empty())
    text +=
        "snapshot: each region's trace behind its warm-up, from the state of the caches that the whole run stored.\n";
  for (const std::string& remark : remarks) text += remark + "\n";
  return text;
}

}  // namespace

PinPointsReport make_report(const Findings& found) {
  const bool validated = !found.whole.empty();
  const std::vector<Figure> figures = figures_of(sim::Hierarchy(found.machine).statistics());
  const RegionCounts counts = region_counts(found);
  const Counts predicted = simpoint::predict(counts.alone, counts.weights);
  const Counts all = validated ? simpoint::sum_of(found.whole) : Counts();
  const Counts stored = found.stored.empty() ? Counts() : stored_prediction(found, counts);
  const Counts warm = validated ? warm_prediction(found, counts) : Counts();
  PinPointsReport report;
  report.table = fmt::format("{:<16}{:>12}{:>10}", "", "regions", "+-");
  if (validated) report.table += fmt::format("{:>12}{:>9}{:>12}{:>9}", "whole run", "error", "warm", "error");
  if (!stored.empty()) report.table += fmt::format("{:>12}{:>9}", "snapshot", "error");
  report.table += "\n";
  json values;
  std::vector<std::string> cold, sampled;
  bool other_work = false;
  for (const Figure& figure : figures) {
    const double ours = figure.value(predicted);
    const double half = uncertainty(figure, found, counts);
    report.table +=
        fmt::format("{:<16}{:>12.4f}{:>10}", figure.name, ours, half < 0 ? "?" : fmt::format("{:.4f}", half));
    json entry = {{"unit", figure.unit}, {"predicted", ours}, {"confidence_95", half < 0 ? json() : json(half)}};
    if (validated) {
      const double whole = figure.value(all), warmed = figure.value(warm);
      const double error = simpoint::relative_error(ours, whole, figure.floor);
      const double warm_error = simpoint::relative_error(warmed, whole, figure.floor);
      const char unit = whole < figure.floor ? '*' : '%';
      report.table += fmt::format("{:>12.4f}{:>8.2f}{}{:>12.4f}{:>8.2f}{}", whole, 100 * error, unit, warmed, 100 * warm_error, unit);
      entry.update({{"whole", whole}, {"relative_to", std::max(whole, figure.floor)}, {"error", error}, {"warm", warmed}, {"warm_error", warm_error}});
      constexpr double kWorthSaying = 0.05;
      const bool is_mix = figure.name == "loads" || figure.name == "stores";   // whatever caches hold
      const bool by_cold_start = !is_mix && error > 2 * warm_error && error - warm_error > kWorthSaying;
      if (stored.empty() && by_cold_start) cold.push_back(figure.name);
      if (warm_error > kWorthSaying && !by_cold_start) sampled.push_back(figure.name);
      other_work |= !found.is_of_one_run && found.profile.threads > 1 && is_mix && warm_error > kWorthSaying;
      double counted = error;
      if (!stored.empty()) {
        const double from_state = figure.value(stored);
        const double state_error = simpoint::relative_error(from_state, whole, figure.floor);
        report.table += fmt::format("{:>12.4f}{:>8.2f}{}", from_state, 100 * state_error, unit);
        entry.update({{"snapshot", from_state}, {"snapshot_error", state_error}});
        counted = state_error;
      }
      if (counted > report.worst) report.worst = counted, report.worst_name = figure.name;
    }
    values[figure.name] = entry;
    report.table += "\n";
  }
  std::vector<std::string> remarks = found.plan.remarks;
  if (std::string sentence = cold_start(cold); !sentence.empty()) remarks.push_back(std::move(sentence));
  if (other_work)
    remarks.push_back(kOtherWork);
  else if (std::string sentence = by_sampling(sampled); !sentence.empty())
    remarks.push_back(std::move(sentence));
  report.table += foot(found, counts, remarks) + about_lost(found, counts);
  report.document = {{"program", found.profile.command},
                     {"machine", found.machine.name},
                     {"instructions", found.profile.instructions},
                     {"intervals", found.profile.intervals.size()},
                     {"interval_length", found.profile.interval_length},
                     {"covered", found.covered * counts.represented},
                     {"measured", measured_part(found, counts)},
                     {"simulated", simulated_part(found)},
                     {"figures", values},
                     {"regions", regions_json(counts, figures)},
                     {"lost", counts.lost},
                     {"remarks", remarks}};
  const std::vector<PlotLine> lines = plot_lines(found, figures);
  report.page = phase_plot(found.profile.command, found.labels, found.plan, lines, report.table);
  report.picture = phase_picture(found.profile.command, found.labels, found.plan, lines);
  return report;
}

void check_regions_are_found(const Findings& found) { region_counts(found); }

}  // namespace simrun::cli
