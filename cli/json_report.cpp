#include "cli/json_report.h"

#include "cli/details_json.h"
#include "configs/read_machine.h"
#include "sim/stats/timing.h"

namespace simrun::cli {

namespace {

using Json = nlohmann::ordered_json;

Json null_if(bool is_null, Json value) { return is_null ? Json(nullptr) : value; }

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& text : list) json.push_back(valid_text(text));
  return json;
}

const char* mode_word(RunMode mode) {
  switch (mode) {
    case RunMode::kNull:
      return "null";
    case RunMode::kCount:
      return "count";
    case RunMode::kTrace:
      return "trace";
    case RunMode::kSim:
      break;
  }
  return "sim";
}

Json counts(const channel::ThreadStatistics& s) {
  return {{"instructions", s.instructions},
          {"loads", s.loads},
          {"stores", s.stores},
          {"prefetches", s.prefetches},
          {"flushes", s.flushes},
          {"fetch_lines", s.fetch_lines},
          {"string_iterations", s.string_iterations},
          {"syscalls", s.syscalls},
          {"signals", s.signals},
          {"blocks", s.paths},
          {"stream_words", s.words},
          {"stalls", s.stalls},
          {"truncated_words", s.truncated_words}};
}

Json accesses(const sim::AccessCounts& c) {
  return {{"fetches", c.fetches}, {"reads", c.reads}, {"writes", c.writes}, {"prefetches", c.prefetches}, {"read_modify_writes", c.read_modify_writes}};
}

Json requests(const sim::RequestStatistics& q, uint64_t instructions) {
  return {{"accesses", q.accesses.demand()},
          {"misses", q.misses.demand()},
          {"miss_rate", ratio(q.misses.demand(), q.accesses.demand())},
          {"mpki", 1000 * ratio(q.misses.demand(), instructions)},
          {"accesses_by_kind", accesses(q.accesses)},
          {"misses_by_kind", accesses(q.misses)}};
}

Json events(const sim::CacheStatistics& c) {
  return {{"evictions", c.evictions},
          {"write_backs_out", c.write_backs_out},
          {"write_backs_in", c.write_backs_in},
          {"back_invalidations", c.back_invalidations},
          {"flushed_lines", c.flushed_lines},
          {"upgrades", c.upgrades},
          {"invalidations_sent", c.invalidations_sent},
          {"invalidations_received", c.invalidations_received},
          {"downgrades", c.downgrades},
          {"interventions", c.interventions},
          {"dirty_interventions", c.dirty_interventions},
          {"clean_supplies", c.clean_supplies},
          {"supplied_by_children", c.supplied_by_children},
          {"victims_in", c.victims_in},
          {"writes_passed_on", c.writes_passed_on},
          {"snoops_sent", c.snoops_sent},
          {"prefetches_issued", c.prefetches_issued},
          {"prefetches_redundant", c.prefetches_redundant},
          {"prefetches_useful", c.prefetches_useful},
          {"prefetches_late", c.prefetches_late},
          {"prefetches_unused", c.prefetches_unused}};
}

const char* side_word(sim::Side side) {
  return side == sim::Side::kInstruction ? "instruction" : side == sim::Side::kData ? "data" : "unified";
}

Json cache(const sim::CacheInstanceStatistics& c, const std::vector<uint64_t>& by_core) {
  Json json = {{"name", c.name}, {"first_core", c.first_core}, {"events", events(c.total)}, {"cores", Json::array()}};
  json["sharing_degrees"] = c.sharing_degrees;
  put_details(json, c.details);
  for (uint32_t i = 0; i < c.by_core.size(); ++i) {
    Json core = {{"core", c.first_core + i}};
    core.update(requests(c.by_core[i], by_core.at(c.first_core + i)));
    json["cores"].push_back(std::move(core));
  }
  return json;
}

Json levels(const RunResult& r) {
  Json list = Json::array();
  const std::vector<uint64_t> by_core = r.instructions_by_core();
  const uint64_t instructions = r.totals().instructions;
  for (const auto& level : r.caches.levels) {
    Json json = {{"name", level.name}, {"level", level.level}, {"side", side_word(level.side)}};
    json.update(requests(level.total.requests, instructions));
    json["events"] = events(level.total);
    put_details(json, level.details);
    json["caches"] = Json::array();
    for (const auto& c : level.caches) json["caches"].push_back(cache(c, by_core));
    list.push_back(std::move(json));
  }
  return list;
}

Json tlb(const sim::TlbCounts& c) { return {{"accesses", c.accesses}, {"misses", c.misses}, {"walks", c.walks}}; }

// By level, then memory.
Json served_by(const RunResult& r, const sim::CoreStatistics& core) {
  Json list = Json::array();
  for (size_t level = 0; level < core.served.size(); ++level) {
    const auto& levels = r.machine->levels;
    Json json = {{"name", level < levels.size() ? levels[level].name : "memory"}};
    json.update(accesses(core.served[level]));
    json["upgrades"] = core.upgrades[level];
    list.push_back(std::move(json));
  }
  return list;
}

Json memory(const sim::MemoryStatistics& m) {
  return {{"reads", m.reads},
          {"writes", m.writes},
          {"invalidations_sent", m.invalidations_sent},
          {"snoops_sent", m.snoops_sent}};
}

Json transfers(const std::vector<sim::Transfer>& all) {
  Json list = Json::array();
  for (const sim::Transfer& t : all) list.push_back({{"to_core", t.to}, {"from_core", t.from}, {"lines", t.lines}});
  return list;
}

// What references did to the machine: of a core, of a thread, of a process.
Json model_counts(const RunResult& r, const sim::CoreStatistics& c, uint64_t instructions) {
  const sim::CoreTiming t = sim::timing_of(*r.machine, c, instructions);
  Json json = {{"fetches", c.fetches},
               {"loads", c.loads},
               {"stores", c.stores},
               {"read_modify_writes", c.read_modify_writes},
               {"prefetches", c.prefetches},
               {"flushes", c.flushes},
               {"line_crossings", c.line_crossings},
               {"served_by", served_by(r, c)},
               {"handed_over", accesses(c.handed_over)},
               {"cycles", t.cycles},
               {"cpi", t.cpi},
               {"fetch_amat", t.fetch_amat},
               {"data_amat", t.data_amat},
               {"base_cycles", t.base_cycles},
               {"transfer_cycles", t.transfer_cycles},
               {"tlb_cycles", t.tlb_cycles},
               {"fetch_tlb", tlb(c.fetch_tlb)},
               {"data_tlb", tlb(c.data_tlb)},
               {"upgrade_cycles", t.upgrade_cycles}};
  for (size_t level = 0; level < t.stall_cycles.size(); ++level)
    json["served_by"][level]["stall_cycles"] = t.stall_cycles[level];
  return json;
}

Json cores(const RunResult& r) {
  Json list = Json::array();
  const std::vector<uint64_t> by_core = r.instructions_by_core();
  for (uint32_t i = 0; i < r.caches.cores.size(); ++i) {
    Json json = {{"core", i},
                 {"instructions", by_core.at(i)},
                 {"context_switches", i < r.cores.size() ? r.cores[i].switches : 0}};
    json.update(model_counts(r, r.caches.cores[i], by_core.at(i)));
    list.push_back(std::move(json));
  }
  return list;
}

Json processes(const RunResult& r) {
  Json all = Json::array();
  std::map<uint32_t, ProcessCounts> by_index = r.counts_by_process();
  for (const ProcessReport& p : r.processes) {
    Json json = {{"index", p.index}, {"pid", p.pid}, {"command", valid_text(p.command)}};
    const ProcessCounts& of = by_index[p.index];
    json.update(counts(of.totals));
    if (r.machine && !r.caches.threads.empty()) json["model"] = model_counts(r, of.model, of.totals.instructions);
    all.push_back(std::move(json));
  }
  return all;
}

Json threads(const RunResult& r) {
  Json list = Json::array();
  for (const auto& thread : r.threads) {
    Json json = {{"index", thread.index}, {"process", thread.process},         {"tid", thread.tid},
                 {"ended", thread.ended}, {"cut_off", thread.cut_off}, {"start_clock", thread.start_clock}, {"end_clock", thread.end_clock}};
    if (r.machine) json["core"] = thread.core, json["migrations"] = thread.migrations;
    json.update(counts(thread.statistics));
    if (r.machine && !r.caches.threads.empty()) {  // one that has not run has counts of 0
      sim::CoreStatistics model;
      if (thread.index < r.caches.threads.size()) model = r.caches.threads[thread.index];
      model.served.resize(r.machine->levels.size() + 1), model.upgrades.resize(r.machine->levels.size() + 1);
      json["model"] = model_counts(r, model, thread.statistics.instructions);
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json engine(const EngineCounts& e) {
  return {{"superblocks", e.superblocks},
          {"paths", e.paths},
          {"translated_instructions", e.translated_instructions},
          {"code_bytes", e.code_bytes},
          {"links", e.links},
          {"indirect_targets", e.indirect_targets},
          {"renewals", e.renewals},
          {"dispatches",
           {{"new", e.dispatches_new},
            {"link", e.dispatches_link},
            {"indirect", e.dispatches_indirect},
            {"syscall", e.dispatches_syscall},
            {"check", e.dispatches_check},
            {"other", e.dispatches_other}}},
          {"signals", e.signals},
          {"faults", e.faults},
          {"flushes", e.flushes},
          {"protected_pages", e.protected_pages},
          {"pages_given_back", e.pages_given_back},
          {"translation_seconds", e.translation_seconds}};
}

Json speed(const RunResult& r) {
  const channel::ThreadStatistics t = r.totals();
  const double seconds = r.wall_seconds > 0 ? r.wall_seconds : 1e-9;
  return {{"wall_seconds", r.wall_seconds},
          {"simulator_seconds", r.simulator_seconds},
          {"mips", static_cast<double>(t.instructions) / seconds / 1e6},
          {"million_references_per_second", static_cast<double>(t.loads + t.stores + t.fetch_lines) / seconds / 1e6}};
}

// What a machine counted, and the machine.
void put_model(Json& json, const RunResult& r) {
  json["levels"] = levels(r);
  json["cores"] = cores(r);
  json["memory"] = r.machine ? memory(r.caches.memory) : Json(nullptr);
  json["transfers"] = transfers(r.caches.transfers);
  json["configuration"] = r.machine ? Json(configs::to_json(*r.machine)) : Json(nullptr);
}

// Of an interval: access times, and TLBs if there are any.
void put_times(Json& json, const RunResult& r, const sim::CoreStatistics& counts) {
  const sim::CoreTiming timing = sim::timing_of(*r.machine, counts, 0);
  json["fetch_amat"] = timing.fetch_amat, json["data_amat"] = timing.data_amat;
  if (r.machine->tlb) json["fetch_tlb"] = tlb(counts.fetch_tlb), json["data_tlb"] = tlb(counts.data_tlb);
}

// Of an interval: demand accesses by the level that answered, if there were any.
void put_by_level(Json& list, const RunResult& r, const char* name, size_t number, const sim::CoreStatistics& counts) {
  Json json = {{name, number}, {"answered_by", Json::object()}};
  uint64_t sum = 0;
  for (size_t level = 0; level < counts.served.size(); ++level) {
    const auto& levels = r.machine->levels;
    const uint64_t answered = counts.served[level].demand();
    json["answered_by"][level < levels.size() ? levels[level].name : "memory"] = answered;
    sum += answered;
  }
  json["handed_over"] = counts.handed_over.demand();
  put_times(json, r, counts);
  if (sum != 0) list.push_back(std::move(json));
}

Json intervals(const RunResult& r) {
  Json list = Json::array();
  if (!r.machine) return list;
  for (const sim::Interval& interval : r.intervals) {
    const sim::CoreTiming timing = sim::timing_of(*r.machine, interval.cores, interval.instructions);
    Json json = {{"instructions", interval.instructions}, {"cpi", timing.cpi}, {"levels", Json::object()}};
    for (size_t i = 0; i < interval.levels.size(); ++i) {
      Json level = requests(interval.levels[i].requests, interval.instructions);
      level.update(events(interval.levels[i]));
      level["sharing_degrees"] = interval.sharing_degrees[i];
      if (!interval.details.empty()) put_details_of_interval(level, interval.details[i]);
      json["levels"][r.caches.levels[i].name] = std::move(level);
    }
    put_times(json, r, interval.cores);
    json["memory"] = memory(interval.memory);
    json["transfers"] = transfers(interval.transfers);
    json["cores"] = Json::array();
    json["threads"] = Json::array();
    for (const sim::IndexedCounts& of : interval.by_core) put_by_level(json["cores"], r, "core", of.index, of.counts);
    for (const sim::IndexedCounts& of : interval.by_thread) put_by_level(json["threads"], r, "index", of.index, of.counts);
    list.push_back(std::move(json));
  }
  return list;
}

Json miss_curve(const sim::MissCurve& c) {
  Json json = {{"level", c.level},           {"caches", c.caches},           {"accesses", c.accesses},
               {"compulsory", c.compulsory}, {"invalidated", c.invalidated}, {"points", Json::array()}};
  for (const sim::MissCurve::Point& point : c.points)
    json["points"].push_back(
        {{"bytes", point.bytes}, {"misses", point.misses}, {"miss_rate", ratio(point.misses, c.accesses)}});
  return json;
}

Json sweep(const RunResult& r) {
  Json list = Json::array();
  for (const SweepPoint& point : r.sweep) {
    Json json = {{"settings", Json::object()}};
    for (const auto& [key, value] : point.settings) json["settings"][key] = value;
    const RunResult one = r.with(point);
    put_model(json, one);
    json["threads"] = threads(one);
    json["processes"] = processes(one);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Json region_json(const std::optional<RegionReport>& region) {
  if (!region) return nullptr;
  const RegionReport& r = *region;
  return {{"from", null_if(r.from.empty(), r.from)}, {"to", null_if(r.to.empty(), r.to)}, {"warm_up", r.warm_up},
          {"first_instruction", null_if(!r.was_reached, r.first)}, {"last_instruction", null_if(!r.was_reached, r.last)}, {"reached_its_end", r.reached_its_end},
          {"stopped_as_asked", r.stopped}};
}

Json json_report(const RunResult& r) {
  Json json;
  json["schema"] = kResultsSchema;
  json["simrun_version"] = SIMRUN_VERSION;
  json["command"] = texts(r.command);
  json["mode"] = mode_word(r.mode);
  json["order"] = null_if(r.order.empty(), r.order);
  json["started"] = r.started;
  json["exit_status"] = null_if(!r.end_is_known, r.shell_status());
  json["signal"] = null_if(r.signal == 0, r.signal);
  json["complete"] = r.error.empty();
  json["error"] = null_if(r.error.empty(), valid_text(r.error));
  json["warnings"] = texts(r.warnings);
  json["counted"] = r.counted;
  json["region"] = region_json(r.region);
  json["speed"] = speed(r);
  json["totals"] = counts(r.totals());
  json["process"] = {{"native_children", r.events.forks},  {"execs", r.events.execs},
                     {"native_programs", r.native_images}, {"left_running", r.left_running},
                     {"discarded_words", r.drained_words}};
  json["processes"] = processes(r);
  json["threads"] = threads(r);
  put_model(json, r);
  json["intervals"] = intervals(r);
  json["miss_curve"] = r.miss_curve ? miss_curve(*r.miss_curve) : Json(nullptr);
  json["hot_functions"] = r.hot_spots && r.machine ? hot_functions(*r.hot_spots, *r.machine) : Json::array();
  json["hot_instructions"] = r.hot_spots && r.machine ? hot_instructions(*r.hot_spots, *r.machine) : Json::array();
  json["hot_objects"] = r.hot_spots && r.machine ? hot_objects(*r.hot_spots, *r.machine) : Json::array();
  json["hot_lines"] = r.hot_spots && r.machine ? hot_lines(*r.hot_spots, *r.machine) : Json::array();
  json["sweep"] = sweep(r);
  json["engine"] = engine(r.engine);
  return json;
}

}  // namespace simrun::cli
