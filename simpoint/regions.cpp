#include "simpoint/regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/user_error.h"

namespace simrun::simpoint {

namespace {

Marker marker_of(const Profile& profile, uint64_t interval) {
  return interval < profile.intervals.size() ? profile.intervals[interval].begin : Marker{};
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
  r.weight = point.weight;
  r.multiplier = point.weight * counted / static_cast<double>(interval.length);
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
  const double counted = static_cast<double>(profile.instructions);
  for (const SimulationPoint& point : points) {
    if (point.interval >= profile.intervals.size())
      throw UserError(fmt::format("cluster {} has interval {}, the profile ends at {}: they are not of the same run",
                                  point.cluster, point.interval, profile.intervals.size() - 1));
    const auto same = std::find_if(plan.regions.begin(), plan.regions.end(),
                                   [&](const Region& r) { return r.interval == point.interval; });
    if (same != plan.regions.end()) {
      same->weight += point.weight;
      same->multiplier += point.weight * counted / static_cast<double>(same->length);
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
  for (uint64_t i = 0; i < profile.intervals.size(); ++i)
    if (stages[i] == Stage::kMeasure || stages[i] != (i == 0 ? Stage::kSkip : stages[i - 1]))
      plan.changes.push_back({i, stages[i]});
  return plan;
}

std::string icount_csv(const RegionPlan& plan, const Profile& profile) {
  std::string text = fmt::format("# regions of: {}\n# warm-up is not in this form\n", profile.command);
  text += "comment,thread-id,region-id,simulation-region-start-icount,simulation-region-end-icount,region-weight\n";
  uint64_t measured = 0;
  for (const Region& r : plan.regions) {
    text += fmt::format("cluster {} from interval {},0,{},{},{},{:.6g}\n", r.cluster, r.interval, r.id,
                        r.start == 0 ? 0 : r.start + 1, r.start + r.length, r.weight);
    measured += r.length;
  }
  text += fmt::format("# Total instructions in {} regions = {}\n# Total instructions in workload = {}\n",
                      plan.regions.size(), measured, profile.instructions);
  return text;
}

namespace {

// The columns have no place for it.
std::string processes(const Marker& from, const Marker& to) {
  const auto name = [](const Marker& m) { return m.process.empty() ? "0" : m.process; };
  if (from.process.empty() && to.process.empty()) return "";
  if (from.process == to.process || to.count == 0) return " of process " + name(from);
  return fmt::format(" from process {} to process {}", name(from), name(to));
}

// Counts of one thread, which other threads do not shift.
std::string threads(const Marker& from, const Marker& to) {
  std::string text;
  if (!from.thread.empty()) text += fmt::format(" from execution {} in thread {}", from.thread_count, from.thread);
  if (!to.thread.empty()) text += fmt::format(" to execution {} in thread {}", to.thread_count, to.thread);
  return text;
}

}  // namespace

std::string pc_count_csv(const RegionPlan& plan, const Profile& profile) {
  std::string text = fmt::format("# regions of: {}\n", profile.command);
  text +=
      "comment,thread-id,region-id,start-pc,start-image-name,start-image-offset,start-pc-count,end-pc,end-image-name,"
      "end-image-offset,end-pc-count,end-pc-relative-count,region-length,region-weight,region-multiplier,region-type\n";
  const auto line = [&](const std::string& comment, uint32_t id, const Marker& from, const Marker& to, uint64_t length,
                        double weight, double multiplier, const std::string& type) {
    // The same address at both ends: how often it is executed in between is known.
    const bool same = from.place == to.place && from.process == to.process && to.count != 0;
    text += fmt::format("{}{}{},{},{},{:#x},{},{:#x},{},{:#x},{},{:#x},{},{},{},{:.6g},{:.6g},{}\n", comment,
                        processes(from, to), threads(from, to), profile.threads > 1 ? "global" : "0", id, from.place.pc,
                        from.place.module, from.place.offset, from.count, to.place.pc, to.place.module, to.place.offset,
                        to.count, same ? to.count - from.count : 0, length, weight, multiplier, type);
  };
  uint32_t next_id = static_cast<uint32_t>(plan.regions.size());
  for (const Region& r : plan.regions) {
    if (r.warm_up != 0)
      line(fmt::format("warm-up of region {}", r.id), ++next_id, profile.intervals[r.warm_up_interval].begin, r.begin,
           r.warm_up, 0, 0, fmt::format("warmup:{}", r.id));
    line(fmt::format("cluster {} from interval {}", r.cluster, r.interval), r.id, r.begin, r.end, r.length, r.weight,
         r.multiplier, "simulation");
  }
  return text;
}

}  // namespace simrun::simpoint
