#include "cli/details_json.h"

#include <fmt/format.h>

namespace simrun::cli {

namespace {

using Json = nlohmann::ordered_json;

Json classes(const sim::MissClasses& c) {
  return {{"compulsory", c.compulsory},     {"capacity", c.capacity},
          {"conflict", c.conflict},         {"inclusion", c.inclusion},
          {"true_sharing", c.true_sharing}, {"false_sharing", c.false_sharing},
          {"flushed", c.flushed},           {"supplied_by_children", c.supplied_by_children}};
}

// Up to the last bucket that is not 0.
Json histogram(const sim::Histogram& h) {
  size_t size = h.counts.size();
  while (size != 0 && h[size - 1] == 0) --size;
  return std::vector<uint64_t>(h.counts.begin(), h.counts.begin() + static_cast<ptrdiff_t>(size));
}

template <class Misses>
Json by_level(const Misses& misses, const sim::MachineConfig& machine) {
  Json json = Json::object();
  for (size_t level = 0; level < machine.levels.size(); ++level) json[machine.levels[level].name] = misses[level];
  return json;
}

void put_sharing(Json& json, const sim::SharingCounts& s) {
  json["true_sharing"] = s.true_sharing;
  json["false_sharing"] = s.false_sharing;
  json["upgrades"] = s.upgrades;
  json["dirty_transfers"] = s.dirty_transfers;
}

void put_cost(Json& json, const Cost& cost) {
  json["stall_cycles"] = cost.stall_cycles;
  json["latency_cycles"] = cost.latency_cycles;
}

void put_counts(Json& json, const sim::OriginCounts& counts, const Cost& cost, const sim::MachineConfig& machine) {
  json["fetches"] = counts.fetches;
  json["reads"] = counts.reads;
  json["writes"] = counts.writes;
  json["prefetches"] = counts.prefetches;
  json["misses_by_level"] = by_level(counts.misses, machine);
  put_cost(json, cost);
  put_sharing(json, counts.sharing);
}

}  // namespace

std::string valid_text(const std::string& bytes) {
  const std::string quoted = Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

namespace {

void put_histograms(Json& json, const sim::CacheDetails& details) {
  const sim::LifetimeStatistics& l = details.lifetimes;
  const sim::ReuseStatistics& r = details.reuse;
  json["lifetimes"] = {{"lines", l.lines},
                       {"unused", l.unused},
                       {"references", l.references},
                       {"hits", l.hits},
                       {"by_lifetime", histogram(l.by_lifetime)},
                       {"by_hits", histogram(l.by_hits)}};
  json["reuse"] = {{"first", r.first}, {"taken_away", r.taken_away}, {"by_distance", histogram(r.by_distance)}};
}

}  // namespace

void put_details(Json& json, const std::optional<sim::CacheDetails>& details) {
  if (!details) {
    json["miss_classes"] = json["lifetimes"] = json["reuse"] = nullptr;
    return;
  }
  json["miss_classes"] = classes(details->classes);
  put_histograms(json, *details);
}

void put_details_of_interval(Json& json, const sim::CacheDetails& details) {
  const sim::MissClasses& c = details.classes;
  json["miss_classes"] = {{"compulsory", c.compulsory},
                          {"capacity", c.capacity},
                          {"conflict", c.conflict},
                          {"inclusion", c.inclusion},
                          {"coherence", c.coherence()},
                          {"flushed", c.flushed},
                          {"supplied_by_children", c.supplied_by_children}};
  put_histograms(json, details);
}

namespace {

std::string source_of(const analysis::SourceFrame& frame) {
  return frame.file.empty() ? "" : valid_text(fmt::format("{}:{}", frame.file, frame.line));
}

}  // namespace

Json hot_instructions(const HotSpots& spots, const sim::MachineConfig& machine) {
  Json list = Json::array();
  for (const HotInstruction& i : spots.instructions) {
    const analysis::SourceFrame frame = i.frames.empty() ? analysis::SourceFrame{} : i.frames.front();
    Json frames = Json::array();
    for (const analysis::SourceFrame& f : i.frames)
      frames.push_back({{"function", valid_text(f.function)}, {"source", source_of(f)}});
    Json json = {{"process", i.process},
                 {"pc", i.pc},
                 {"function", valid_text(frame.function)},
                 {"source", source_of(frame)},
                 {"frames", std::move(frames)},
                 {"module", valid_text(i.module)}};
    put_counts(json, i.counts, i.cost, machine);
    list.push_back(std::move(json));
  }
  return list;
}

Json hot_functions(const HotSpots& spots, const sim::MachineConfig& machine) {
  Json list = Json::array();
  for (const HotFunction& f : spots.functions) {
    Json json = {{"process", f.process}, {"function", valid_text(f.function)}, {"module", valid_text(f.module)}};
    put_counts(json, f.counts, f.cost, machine);
    list.push_back(std::move(json));
  }
  return list;
}

Json hot_objects(const HotSpots& spots, const sim::MachineConfig& machine) {
  Json list = Json::array();
  for (const HotObject& o : spots.objects) {
    Json callers = Json::array();
    for (const std::string& caller : o.allocated_by) callers.push_back(valid_text(caller));
    Json json = {{"process", o.process},
                 {"object", valid_text(o.object)},
                 {"allocated_by", std::move(callers)},
                 {"blocks", o.counts.blocks},
                 {"bytes", o.bytes},
                 {"misses_by_level", by_level(o.counts.misses, machine)}};
    put_cost(json, o.cost);
    json["coherence_misses"] = o.counts.coherence_misses;
    json["upgrades"] = o.counts.upgrades;
    list.push_back(std::move(json));
  }
  return list;
}

Json hot_lines(const HotSpots& spots, const sim::MachineConfig& machine) {
  Json list = Json::array();
  for (const HotLine& l : spots.lines) {
    Json json = {{"process", l.process},
                 {"address", l.address},
                 {"object", valid_text(l.data.object)},
                 {"offset", l.data.offset},
                 {"reads", l.reads},
                 {"writes", l.writes},
                 {"sharing_threads", l.threads},
                 {"misses_by_level", by_level(l.misses, machine)}};
    put_cost(json, l.cost);
    put_sharing(json, l.sharing);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace simrun::cli
