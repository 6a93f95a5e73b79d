#include "simpoint/regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/user_error.h"

namespace simrun::simpoint {

namespace {

Marker marker_of(const Profile& profile, uint64_t interval) {
  return interval < profile.intervals.size() ? profile.intervals[interval].begin : Marker{};
}

uint64_t executed_before(const Profile& profile, uint64_t interval) {
  return interval < profile.intervals.size() ? profile.intervals[interval].executed_before : 0;
}

// What the region stands for, in regions like it.
double multiplier_of(const SimulationPoint& point, const Interval& interval, double counted) {
  return point.weight * counted / static_cast<double>(std::max<uint64_t>(interval.counted(), 1));
}

Region make_region(const Profile& profile, const SimulationPoint& point, uint64_t warm_up, double counted) {
  const Interval& interval = profile.intervals[point.interval];
  Region r;
  r.cluster = point.cluster;
  r.interval = point.interval;
  r.start = interval.start;
  r.length = interval.length;
  r.begin = interval.begin;
  r.end = marker_of(profile, point.interval + 1);
  r.end_executions = executed_before(profile, point.interval + 1);
  r.weight = point.weight;
  r.multiplier = multiplier_of(point, interval, counted);
  r.warm_up_interval = point.interval;
  while (r.warm_up_interval > 0 && r.start - profile.intervals[r.warm_up_interval].start < warm_up)
    --r.warm_up_interval;
  r.warm_up = r.start - profile.intervals[r.warm_up_interval].start;
  return r;
}

std::string list(const std::vector<uint32_t>& ids) {
  return fmt::format("{} {}", ids.size() == 1 ? "region" : "regions", fmt::join(ids, ", "));
}

void remark_on_warm_up(RegionPlan& plan, uint64_t warm_up) {
  std::vector<uint32_t> short_ones, shared;
  for (const Region& r : plan.regions) {
    if (r.warm_up < warm_up) short_ones.push_back(r.id);
    const auto within = [&](const Region& other) {
      return other.interval >= r.warm_up_interval && other.interval < r.interval;
    };
    if (std::any_of(plan.regions.begin(), plan.regions.end(), within)) shared.push_back(r.id);
  }
  if (!short_ones.empty())
    plan.remarks.push_back(fmt::format("{}: less than {} instructions before it: the warm-up starts with the run",
                                       list(short_ones), warm_up));
  if (!shared.empty())
    plan.remarks.push_back(
        fmt::format("{}: the warm-up holds other regions, which are measured as they pass", list(shared)));
}

}  // namespace

uint64_t counted_instructions(const Profile& profile) {
  uint64_t left_out = 0;
  for (const Interval& interval : profile.intervals) left_out += interval.left_out;
  return profile.instructions - std::min(left_out, profile.instructions);
}

std::vector<bool> intervals_that_change_hands(const Profile& profile) {
  std::vector<bool> made(profile.intervals.size());
  for (size_t i = 0; i + 1 < made.size(); ++i) {
    const Marker &begin = profile.intervals[i].begin, &end = profile.intervals[i + 1].begin;
    // Without a thread: its process had no other then.
    made[i] =
        begin.process != end.process || (begin.thread != end.thread && !begin.thread.empty() && !end.thread.empty());
  }
  return made;
}

RegionPlan plan_regions(const Profile& profile, std::span<const SimulationPoint> points, uint64_t warm_up) {
  if (profile.intervals.empty())
    throw UserError("the profile does not say where its intervals begin: make it with simrun bbv");
  RegionPlan plan;
  const double counted = static_cast<double>(counted_instructions(profile));
  for (const SimulationPoint& point : points) {
    if (point.interval >= profile.intervals.size())
      throw UserError(fmt::format("cluster {} has interval {}, the profile ends at {}: they are not of the same run",
                                  point.cluster, point.interval, profile.intervals.size() - 1));
    const auto same = std::find_if(plan.regions.begin(), plan.regions.end(),
                                   [&](const Region& r) { return r.interval == point.interval; });
    if (same != plan.regions.end()) {
      same->weight += point.weight;
      same->multiplier += multiplier_of(point, profile.intervals[point.interval], counted);
      plan.remarks.push_back(fmt::format("clusters {} and {} have the same interval {}: one region with both weights",
                                         same->cluster, point.cluster, point.interval));
      continue;
    }
    plan.regions.push_back(make_region(profile, point, warm_up, counted));
  }
  std::sort(plan.regions.begin(), plan.regions.end(),
            [](const auto& a, const auto& b) { return a.interval < b.interval; });
  uint32_t id = 0;
  for (Region& r : plan.regions) r.id = ++id;
  std::vector<Stage> stages(profile.intervals.size() + 1, Stage::kSkip);
  for (const Region& r : plan.regions)
    for (uint64_t i = r.warm_up_interval; i < r.interval; ++i) stages[i] = Stage::kWarmUp;
  for (const Region& r : plan.regions) stages[r.interval] = Stage::kMeasure;
  remark_on_warm_up(plan, warm_up);
  std::set<uint64_t> begins;   // of warm-ups, amid others' too
  for (const Region& r : plan.regions) begins.insert(r.warm_up_interval);
  for (uint64_t i = 0; i < profile.intervals.size(); ++i)
    if (stages[i] == Stage::kMeasure || begins.contains(i) || stages[i] != (i == 0 ? Stage::kSkip : stages[i - 1]))
      plan.changes.push_back({i, stages[i]});
  return plan;
}

// What PinPoints' own scripts read (intel/pinplay-tools, pinplay-scripts): lines that begin with exactly `cluster N from
// slice M` or `Warmup for regionid N`, a region's before its warm-up's, names of images that are not empty.
namespace {

std::string comment_of(const Region& r) { return fmt::format("cluster {} from slice {}", r.cluster, r.interval); }

std::string totals(const RegionPlan& plan, const Profile& profile) {
  uint64_t measured = 0;
  for (const Region& r : plan.regions) measured += r.length;
  return fmt::format("# Total instructions in {} regions = {}\n# Total instructions in workload = {}\n",
                     plan.regions.size(), measured, profile.instructions);
}

uint64_t first_instruction(uint64_t start) { return start == 0 ? 0 : start + 1; }

// Scripts split a line at its commas and know no quotes: such characters of a path are written as the kernel writes others (\054).
std::string image(const Marker& m) {
  if (m.count == 0) return "[end]";
  if (m.place.module.empty()) return "[anonymous]";
  std::string text;
  for (const char c : m.place.module) text += c == ',' || c == '"' ? fmt::format("\\{:03o}", c) : std::string(1, c);
  return text;
}

// What the columns have no place for: of which process and thread it is, whose count other threads do not shift.
std::string comment_of(const char* side, const Marker& m) {
  if (m.count == 0) return fmt::format("#{}: pc : the end of the program\n", side);
  std::string text = fmt::format("#{}: pc : {:#x} image: {} offset: {:#x} absolute_count: {}", side, m.place.pc, image(m),
                                 m.place.offset, m.count);
  if (!m.process.empty()) text += " process: " + m.process;
  if (!m.thread.empty()) text += fmt::format(" thread: {} thread_count: {}", m.thread, m.thread_count);
  return text + "\n";
}

// One region or warm-up of the second form.
struct PcCountRow {
  std::string comment, type;
  uint32_t id = 0;
  uint64_t interval = 0, start = 0, length = 0;
  double weight = 0, multiplier = 0;
  Marker begin, end;
  std::optional<uint64_t> end_executions;   // of the instruction at the end, from the beginning on; none: not known
};

// The how-many-th execution of the instruction at the end the end is, behind the region's first instruction (pcregions.py of PinPoints' scripts,
// GetRegionBBV). 0: not known, or the end of the program.
uint64_t relative_count(const PcCountRow& r) {
  if (r.end.count == 0) return 0;
  const bool same = r.begin.place == r.end.place && r.begin.process == r.end.process;
  if (same) return r.end.count - r.begin.count;
  return r.end_executions ? *r.end_executions + 1 : 0;
}

std::string text_of(const PcCountRow& r, const Profile& profile) {
  std::string text = fmt::format("# RegionId = {} Slice = {} Icount = {} Length = {} Weight = {:.6g} Multiplier = {:.6g}\n",
                                 r.id, r.interval, first_instruction(r.start), r.length, r.weight, r.multiplier);
  text += comment_of("Start", r.begin) + comment_of("End", r.end);
  return text + fmt::format("{},{},{},{:#x},{},{:#x},{},{:#x},{},{:#x},{},{},{},{:.6g},{:.6g},{}\n", r.comment,
                            profile.threads > 1 ? "global" : "0", r.id, r.begin.place.pc, image(r.begin),
                            r.begin.place.offset, r.begin.count, r.end.place.pc, image(r.end), r.end.place.offset,
                            r.end.count, relative_count(r), r.length, r.weight, r.multiplier, r.type);
}

}  // namespace

std::string icount_csv(const RegionPlan& plan, const Profile& profile) {
  std::string text = fmt::format("# regions of: {}\n# warm-up is not in this form\n", profile.command);
  text += "comment,thread-id,region-id,simulation-region-start-icount,simulation-region-end-icount,region-weight\n";
  for (const Region& r : plan.regions)
    text += fmt::format("{},0,{},{},{},{:.6g}\n", comment_of(r), r.id, first_instruction(r.start), r.start + r.length,
                        r.weight);
  return text + totals(plan, profile);
}

std::string pc_count_csv(const RegionPlan& plan, const Profile& profile) {
  constexpr const char* kColumns =
      "comment,thread-id,region-id,start-pc,start-image-name,start-image-offset,start-pc-count,end-pc,end-image-name,"
      "end-image-offset,end-pc-count,end-pc-relative-count,region-length,region-weight,region-multiplier,region-type\n";
  // Twice: one of PinPoints' scripts looks for it in a comment, readers of CSV want it without.
  std::string text = fmt::format("# regions of: {}\n# {}{}", profile.command, kColumns, kColumns);
  for (const Region& r : plan.regions)
    text += text_of({comment_of(r), "simulation", r.id, r.interval, r.start, r.length, r.weight, r.multiplier, r.begin, r.end,
                     r.end_executions},
                    profile);
  auto next_id = static_cast<uint32_t>(plan.regions.size());
  for (const Region& r : plan.regions)
    if (r.warm_up != 0)
      text += text_of({fmt::format("Warmup for regionid {}", r.id), fmt::format("warmup:{}", r.id), ++next_id,
                       r.warm_up_interval, r.start - r.warm_up, r.warm_up, 0, 0,
                       profile.intervals[r.warm_up_interval].begin, r.begin,
                       r.warm_up_interval + 1 == r.interval ? std::optional(executed_before(profile, r.interval)) : std::nullopt},
                      profile);
  return text + totals(plan, profile);
}

}  // namespace simrun::simpoint
