#include "cli/phases/region_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace simrun::cli {

namespace {

using simpoint::Profile;
using simpoint::Region;
using simpoint::RegionPlan;
using simpoint::Stage;

// Tracing begins and ends so far from what is simulated: by so much the run may be longer or shorter than the profiled
// one before a marker is passed unseen.
uint64_t margin(const Profile& profile) { return std::max<uint64_t>(profile.interval_length / 2, 100'000); }

// A switch of mode costs translation: what is shorter than so many intervals is traced through. Of cc1plus a switch
// there and back costs as much as 5 to 10 million instructions.
constexpr uint64_t kLeastSkipped = 4;

nlohmann::ordered_json marker_json(const simpoint::Marker& m) {
  if (m.count == 0) return nullptr;
  nlohmann::ordered_json marker = {{"module", m.place.module}, {"offset", m.place.offset}, {"count", m.count}};
  if (!m.process.empty()) marker["process"] = m.process;
  if (!m.thread.empty()) marker["thread"] = m.thread, marker["thread_count"] = m.thread_count;
  return marker;
}

nlohmann::ordered_json region_json(const Region& r, const std::string& program) {
  return {{"from", fmt::format("instruction {} of the run", r.start - r.warm_up)},
          {"to", fmt::format("instruction {} of the run", r.start + r.length)},
          {"program", program},
          {"id", r.id},
          {"phase", r.cluster},
          {"interval", r.interval},
          {"weight", r.weight},
          {"multiplier", r.multiplier},
          {"warm_up", r.warm_up},
          {"length", r.length},
          {"begin", marker_json(r.begin)},
          {"end", marker_json(r.end)}};
}

// Where tracing is needed, from one instruction count to another, with margins; near ones in one. One thread: its
// counts are those of the run.
std::vector<border::ModeSwitch> switches_of(const std::vector<Stop>& stops, const Profile& profile) {
  struct Window {
    uint64_t from, to;
  };
  std::vector<Window> windows;
  for (size_t i = 0; i < stops.size(); ++i) {
    if (!stops[i].simulate) continue;
    const uint64_t to = i + 1 < stops.size() ? stops[i + 1].instructions : ~uint64_t{0} / 2;
    const uint64_t from = stops[i].instructions - std::min(stops[i].instructions, margin(profile));
    const uint64_t least = kLeastSkipped * profile.interval_length;
    if (!windows.empty() && from < windows.back().to + least)
      windows.back().to = to + margin(profile);
    else
      windows.push_back({from, to + margin(profile)});
  }
  std::vector<border::ModeSwitch> switches;
  for (const Window& window : windows) {
    switches.push_back({window.from, 0, border::Mode::kTrace});
    switches.push_back({window.to, 0, border::Mode::kCount});
  }
  if (switches.size() > border::kMaxModeSwitches) switches.clear();
  return switches;
}

void plan_traces(RegionPass& pass, const RegionPlan& plan, const std::string& folder, const std::string& program) {
  for (const Region& r : plan.regions)
    pass.traces.push_back({folder + "/" + trace_name(program, r), region_json(r, program)});
}

}  // namespace

std::string region_name(const std::string& program, const Region& region) {
  return fmt::format("{}_r{:03}_phase{:02}_weight{:.5f}", program, region.id, region.cluster, region.weight);
}

std::string trace_name(const std::string& program, const Region& region) {
  return region_name(program, region) + ".trace";
}

void trace_intervals(RegionPass& pass, const RegionPlan& plan, const std::string& folder, const std::string& program) {
  for (auto* at : {&pass.begins, &pass.measures, &pass.closes}) at->resize(pass.stops.size());
  for (size_t k = 0; k < plan.regions.size(); ++k) {
    const Region& region = plan.regions[k];
    pass.begins[region.warm_up_interval].push_back(k);
    pass.measures[region.interval].push_back(k);
    if (region.interval + 1 < pass.stops.size()) pass.closes[region.interval + 1].push_back(k);
  }
  plan_traces(pass, plan, folder, program);
}

std::vector<border::ModeSwitch> switches_from(const RegionPass& pass, size_t first, const Profile& profile) {
  return switches_of({pass.stops.begin() + static_cast<std::ptrdiff_t>(first), pass.stops.end()}, profile);
}

uint64_t tolerance_of(const Profile& profile) {
  // Threads that run at other paces shift what is counted over all of them.
  const uint64_t part = profile.threads > 1 ? 10 : 100;
  return std::max<uint64_t>(profile.interval_length, profile.instructions / part);
}

RegionPass plan_pass(const RegionPlan& plan, const Profile& profile, const std::string& folder,
                     const std::string& program, bool is_recorded) {
  std::map<uint64_t, Stage> changes;
  for (const auto& change : plan.changes) changes[change.interval] = change.stage;
  std::set<uint64_t> places;
  for (const auto& [interval, stage] : changes) places.insert(interval);
  if (!folder.empty())
    for (const Region& r : plan.regions)
      for (const uint64_t interval : {r.warm_up_interval, r.interval + 1})
        if (interval < profile.intervals.size()) places.insert(interval);
  RegionPass pass;
  Stage stage = Stage::kSkip;
  for (const uint64_t place : places) {
    const simpoint::Interval& interval = profile.intervals[place];
    const auto change = changes.find(place);
    if (change != changes.end()) stage = change->second;
    pass.stops.push_back({interval.begin, interval.start, stage != Stage::kSkip});
    pass.is_change.push_back(change != changes.end());
    pass.begins.emplace_back();
    pass.measures.emplace_back();
    pass.closes.emplace_back();
    for (size_t k = 0; k < plan.regions.size(); ++k) {
      if (plan.regions[k].warm_up_interval == place) pass.begins.back().push_back(k);
      if (plan.regions[k].interval == place) pass.measures.back().push_back(k);
      if (plan.regions[k].interval + 1 == place) pass.closes.back().push_back(k);
    }
  }
  if (!folder.empty()) plan_traces(pass, plan, folder, program);
  pass.tolerance = tolerance_of(profile);
  if (profile.threads == 1 && !is_recorded) pass.switches = switches_of(pass.stops, profile);
  if (!pass.switches.empty()) pass.tolerance = margin(profile);
  return pass;
}

}  // namespace simrun::cli
