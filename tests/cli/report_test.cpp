#include "cli/report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "cli/detailed_sink.h"
#include "cli/json_report.h"

namespace simrun::cli {
namespace {

sim::MachineConfig small_machine() {
  sim::MachineConfig machine;
  machine.name = "small";
  machine.cores = 2;
  sim::LevelConfig l1, l2;
  l1.name = "L1";
  l1.split = true;
  l1.instruction = l1.data = {4096, 4, 1};
  l2.name = "L2";
  l2.cores_per_cache = 2;
  l2.unified = {65536, 8, 10};
  machine.levels = {l1, l2};
  return machine;
}

// Two threads that write one line in turn, through the model as a run does it.
RunResult result_of_a_run() {
  RunResult r;
  r.command = {"./pingpong", "a b", "\xff"};
  r.machine = small_machine();
  r.started = "2026-01-02T03:04:05Z";
  r.wall_seconds = 0.5;
  r.region = RegionReport{"marker:1", "", 1000, 5000, 9000};
  r.processes = {{0, 4711, "./pingpong a b"}};
  sim::Hierarchy model(*r.machine);
  DetailedModelSink sink(model);
  for (uint32_t i = 0; i < 2; ++i) {
    channel::ThreadReport thread;
    thread.index = thread.core = i;
    thread.tid = 100 + i;
    thread.ended = true;
    thread.statistics.instructions = 1'000'000;
    thread.statistics.stores = 10;
    EXPECT_EQ(sink.start_thread(thread), i);
    EXPECT_EQ(sink.run_on(thread), i);
    r.threads.push_back(thread);
  }
  for (uint32_t i = 0; i < 20; ++i) sink.data(i % 2, channel::ReferenceKind::kStore, 0x1000, 8, 0x400000);
  sink.fetch(0, 0x10, 0x400);
  r.caches = model.statistics();
  sim::IntervalSeries series;
  series.take(2'000'000, r.caches);
  r.intervals = series.intervals();
  HotSpots spots;
  spots.instructions.push_back({0, 0x400000, {{"spin", "a/b.c", 12}}, "/bin/x", {}, {2.5, 77}});
  spots.functions.push_back({0, "spin_twice", "/bin/x", {}, {2.5, 77}});
  spots.objects.push_back({0, "heap blocks allocated at make (list.c:7)", {"make (list.c:7)", "main (list.c:9)"}, 4096, {}, {1, 40}});
  spots.objects[0].counts.blocks = 3;
  spots.lines.push_back({});
  spots.lines[0].data.object = "counter";
  r.hot_spots = spots;
  r.miss_curve = sim::MissCurve{"L1D", 2, 20, 1, 19, {{64, 20}}};
  return r;
}

TEST(TextReport, SweepAndCurve) {
  RunResult r = result_of_a_run();
  r.sweep = {{{{"L2.size", "64KiB"}}, *r.machine, r.caches}, {{{"L2.size", "1MiB"}}, *r.machine, r.caches}};
  r.machine.reset();
  r.caches = {};
  r.intervals.clear();
  const std::string text = text_report(r);
  EXPECT_NE(text.find("L2.size=64KiB"), std::string::npos);
  EXPECT_NE(text.find("L1D of any size"), std::string::npos);
  const auto json = json_report(r);
  EXPECT_TRUE(json.at("levels").empty());
  EXPECT_EQ(json.at("sweep").at(1).at("settings").at("L2.size"), "1MiB");
  EXPECT_EQ(json.at("sweep").at(1).at("levels").at(1).at("misses"), 20);
}

TEST(JsonReport, Details) {
  const auto json = json_report(result_of_a_run());
  const auto& level1 = json.at("levels").at(1);
  EXPECT_EQ(level1.at("miss_classes").at("compulsory"), 2);
  EXPECT_EQ(level1.at("miss_classes").at("true_sharing"), 18);
  EXPECT_EQ(level1.at("reuse").at("taken_away"), 18);
  EXPECT_EQ(level1.at("lifetimes").at("lines"), 19);
  EXPECT_EQ(level1.at("lifetimes").at("by_lifetime"), nlohmann::ordered_json({0, 19}));
  EXPECT_EQ(level1.at("caches").at(1).at("miss_classes").at("true_sharing"), 9);
  EXPECT_EQ(json.at("intervals").at(0).at("levels").at("L1D").at("miss_classes").at("coherence"), 18);
  EXPECT_EQ(json.at("hot_instructions").at(0).at("source"), "a/b.c:12");
  EXPECT_EQ(json.at("hot_instructions").at(0).at("stall_cycles"), 2.5);
  EXPECT_EQ(json.at("hot_functions").at(0).at("function"), "spin_twice");
  EXPECT_EQ(json.at("hot_functions").at(0).at("latency_cycles"), 77);
  EXPECT_EQ(json.at("hot_objects").at(0).at("blocks"), 3);
  EXPECT_EQ(json.at("hot_objects").at(0).at("allocated_by").at(1), "main (list.c:9)");
  EXPECT_EQ(json.at("hot_lines").at(0).at("misses_by_level").at("L2"), 0);
  const std::string text = text_report(result_of_a_run());
  EXPECT_NE(text.find("true sharing"), std::string::npos);
  EXPECT_NE(text.find("spin b.c:12"), std::string::npos);
  EXPECT_NE(text.find("counter +0"), std::string::npos);
  EXPECT_NE(text.find("x                                  3                    0            0         0  spin_twice"), std::string::npos) << text;
  EXPECT_NE(text.find("heap blocks allocated at make (list.c:7), called by main (list.c:9) (3 blocks)"), std::string::npos);
}

TEST(JsonReport, ThreadsAndProcesses) {
  const auto json = json_report(result_of_a_run());
  EXPECT_EQ(json.at("threads").at(1).at("model").at("stores"), 10);
  EXPECT_EQ(json.at("threads").at(1).at("model").at("handed_over").at("writes"), 10);
  EXPECT_EQ(json.at("processes").at(0).at("stores"), 20);
  EXPECT_EQ(json.at("processes").at(0).at("model").at("stores"), 20);
  EXPECT_EQ(json.at("intervals").at(0).at("threads").size(), 2u);
}

TEST(TextReport, ProcessesHaveRows) {
  RunResult r = result_of_a_run();
  r.processes.push_back({1, 4712, "child"});
  r.threads[1].process = 1;
  const std::string text = text_report(r);
  EXPECT_NE(text.find("by process"), std::string::npos);
  EXPECT_NE(text.find("4712 child"), std::string::npos);
}

TEST(JsonReport, Intervals) {
  const auto json = json_report(result_of_a_run());
  ASSERT_EQ(json.at("intervals").size(), 1u);
  EXPECT_EQ(json.at("intervals").at(0).at("instructions"), 2'000'000);
  EXPECT_EQ(json.at("intervals").at(0).at("levels").at("L1D").at("misses"), 20);
}

// Who served whom, TLBs and access times over time: the intervals add up to the run.
TEST(JsonReport, IntervalsAddUp) {
  RunResult r = result_of_a_run();
  r.machine->tlb = sim::TlbConfig{{4, 4}, {4, 4}, {8, 4}, 7, 30};
  sim::Hierarchy model(*r.machine);
  sim::IntervalSeries series;
  for (const uint64_t stores : {20u, 30u}) {
    for (uint64_t i = 0; i < stores; ++i)
      for (const uint32_t core : {0u, 1u}) model.access(core, sim::Access::kStore, (stores * 1000 + i % 7) * 4160, 8);
    series.take(stores * 1000, model.statistics());
  }
  r.caches = model.statistics();
  r.intervals = series.intervals();
  const auto json = json_report(r);
  const auto& intervals = json.at("intervals");
  ASSERT_EQ(intervals.size(), 2u);
  ASSERT_EQ(json.at("transfers").size(), 2u);
  for (size_t pair = 0; pair < 2; ++pair) {
    uint64_t lines = 0;
    for (const auto& interval : intervals) {
      const auto& transfer = interval.at("transfers").at(pair);
      EXPECT_EQ(transfer.at("to_core"), json.at("transfers").at(pair).at("to_core"));
      EXPECT_GT(transfer.at("lines"), 10);
      lines += transfer.at("lines").get<uint64_t>();
    }
    EXPECT_EQ(json.at("transfers").at(pair).at("lines"), lines);
  }
  for (size_t core = 0; core < 2; ++core) {
    uint64_t walks = 0, accesses = 0;
    double latencies = 0;
    for (const auto& interval : intervals) {
      const auto& part = interval.at("cores").at(core);
      EXPECT_EQ(part.at("core"), core);
      walks += part.at("data_tlb").at("walks").get<uint64_t>();
      accesses += part.at("data_tlb").at("accesses").get<uint64_t>();
      latencies += part.at("data_amat").get<double>() * part.at("data_tlb").at("accesses").get<double>();
    }
    const auto& whole = json.at("cores").at(core);
    EXPECT_GT(walks, 5u);
    EXPECT_EQ(whole.at("data_tlb").at("walks"), walks);
    EXPECT_NEAR(whole.at("data_amat").get<double>(), latencies / static_cast<double>(accesses), 1e-9);
  }
}

TEST(CoreOfThread, RoundRobin) {
  EXPECT_EQ(core_of_thread(0, 8), 0u);
  EXPECT_EQ(core_of_thread(7, 8), 7u);
  EXPECT_EQ(core_of_thread(8, 8), 0u);
}

TEST(ModelSink, KindsArriveAsWhatTheyAre) {
  sim::Hierarchy model(small_machine());
  ModelSink sink(model);
  using channel::ReferenceKind;
  for (auto kind :
       {ReferenceKind::kLoad, ReferenceKind::kStore, ReferenceKind::kReadModifyWrite, ReferenceKind::kPrefetch,
        ReferenceKind::kFlush, ReferenceKind::kNonTemporalLoad, ReferenceKind::kNonTemporalStore})
    sink.data(1, kind, 0x2000, 4);
  sink.fetch(1, 0x99);
  const auto statistics = model.statistics();
  const sim::CoreStatistics& core = statistics.cores.at(1);
  EXPECT_EQ(core.fetches, 1u);
  EXPECT_EQ(core.loads, 2u);
  EXPECT_EQ(core.stores, 2u);
  EXPECT_EQ(core.read_modify_writes, 1u);
  EXPECT_EQ(core.prefetches, 1u);
  EXPECT_EQ(core.flushes, 1u);
}

TEST(TextReport, HasTheNumbers) {
  RunResult r = result_of_a_run();
  const std::string text = text_report(r);
  EXPECT_NE(text.find("2,000,000"), std::string::npos);
  EXPECT_NE(text.find("L1D"), std::string::npos);
  EXPECT_NE(text.find("core 1"), std::string::npos);
  EXPECT_NE(text.find("exit status 0"), std::string::npos);
  EXPECT_NE(text.find("4.0 MIPS"), std::string::npos);
  EXPECT_EQ(text.find("NOT COMPLETE"), std::string::npos);
  r.attached = true;
  r.end_is_known = false;
  EXPECT_EQ(text_report(r).find("exit status"), std::string::npos);
  EXPECT_TRUE(json_report(r).at("exit_status").is_null());
  r.attached = false;
  r.end_is_known = true;
  r.signal = 15;
  r.error = "cut";
  EXPECT_NE(text_report(r).find("ended by SIGTERM"), std::string::npos);
  EXPECT_NE(text_report(r).find("NOT COMPLETE: cut"), std::string::npos);
}

// Its bounds are no instructions of the run then.
TEST(Reports, ARegionThatWasNotReachedHasNoInstructions) {
  RunResult r = result_of_a_run();
  EXPECT_NE(text_report(r).find("region: instructions 5,000 to 9,000"), std::string::npos);
  r.region->was_reached = false;
  EXPECT_NE(text_report(r).find("   region: marker:1 was not reached\n"), std::string::npos) << text_report(r);
  EXPECT_EQ(text_report(r).find("region: instructions"), std::string::npos);
  for (const char* key : {"first_instruction", "last_instruction"}) EXPECT_TRUE(json_report(r).at("region").at(key).is_null());
}

// However large the latencies are: a machine file may have any.
TEST(TextReport, NumbersDoNotRunTogether) {
  RunResult r = result_of_a_run();
  r.machine->memory_latency = 4'000'000'000;
  for (auto& level : r.machine->levels) level.unified.latency = level.data.latency = 4'000'000'000;
  const std::string text = text_report(r);
  const size_t row = text.find("core 0 ", text.find("estimate"));
  std::istringstream line(text.substr(row, text.find('\n', row) - row));
  std::string word;
  for (const char* pattern : {"core", "0", "[0-9,]+", "[0-9]+\\.[0-9]{3}", "[0-9]+\\.[0-9]{2}", "[0-9]+\\.[0-9]{2}"}) {
    line >> word;
    EXPECT_TRUE(std::regex_match(word, std::regex(pattern))) << word << " of " << line.str();
  }
}

TEST(TextReport, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(18446744073709551615u), "18,446,744,073,709,551,615");
}

TEST(JsonReport, HasWhatScriptsRelyOn) {
  const auto json = json_report(result_of_a_run());
  EXPECT_EQ(json.at("schema"), "simrun-results-2");
  EXPECT_EQ(json.at("command").at(1), "a b");
  EXPECT_EQ(json.at("exit_status"), 0);
  EXPECT_TRUE(json.at("signal").is_null());
  EXPECT_EQ(json.at("threads").size(), 2u);
  EXPECT_EQ(json.at("threads").at(1).at("core"), 1);
  EXPECT_EQ(json.at("totals").at("instructions"), 2'000'000);
  EXPECT_EQ(json.at("totals").at("stores"), 20);
  EXPECT_TRUE(json.at("totals").contains("loads"));
  EXPECT_EQ(json.at("levels").at(1).at("name"), "L1D");
  EXPECT_EQ(json.at("levels").at(1).at("accesses"), 20);
  EXPECT_EQ(json.at("levels").at(1).at("misses"), 20);  // each write takes the line from the other core
  EXPECT_DOUBLE_EQ(json.at("levels").at(1).at("mpki").get<double>(), 0.01);
  EXPECT_EQ(json.at("configuration").at("cores"), 2);
  EXPECT_NO_THROW(json.dump());  // the argument that is no UTF-8
}

TEST(JsonReport, SignalsAndErrors) {
  RunResult r = result_of_a_run();
  r.signal = 9;
  r.error = "cut";
  const auto json = json_report(r);
  EXPECT_EQ(json.at("exit_status"), 137);
  EXPECT_EQ(json.at("signal"), 9);
  EXPECT_EQ(json.at("complete"), false);
}

TEST(JsonReport, WithoutAModel) {
  RunResult r = result_of_a_run();
  r.mode = RunMode::kTrace;
  r.machine.reset();
  r.caches = {};
  const auto json = json_report(r);
  EXPECT_TRUE(json.at("configuration").is_null());
  EXPECT_TRUE(json.at("levels").empty());
  EXPECT_FALSE(json.at("threads").at(0).contains("core"));
}

void collect_keys(const nlohmann::ordered_json& json, std::set<std::string>& keys) {
  if (json.is_object())
    for (const auto& [key, value] : json.items()) {
      keys.insert(key);
      // `configuration` is documented in configs/README.md; intervals and misses by level have the names of levels.
      if (key != "configuration" && key != "intervals" && key != "misses_by_level") collect_keys(value, keys);
    }
  if (json.is_array())
    for (const auto& value : json) collect_keys(value, keys);
}

// Every key stands in docs/results.md, in backquotes at the start of a table row, and every such row is a key.
TEST(JsonReport, DocumentationHasTheSameKeys) {
  std::ifstream in(SIMRUN_SOURCE_DIRECTORY "/docs/results.md");
  ASSERT_TRUE(in) << "docs/results.md";
  std::set<std::string> documented, written;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find('|', 2) - 2);  // `a`, `b`
    for (size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
      const size_t end = cell.find('`', at + 1);
      documented.insert(cell.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  collect_keys(json_report(result_of_a_run()), written);
  EXPECT_EQ(documented, written);
}

}  // namespace
}  // namespace simrun::cli
