// What simrun sim makes of a trace by several threads, for many machines, for all sizes, and into every form of
// results: the numbers of the live run.
#include <hdf5.h>

#include <map>

#include "tests/traces/record_command.h"

namespace simrun {
namespace {

class SimCommand : public RecordCommand {
 protected:
  // What `simrun COMMAND` with these options and the machine finds.
  json results_of(const std::string& command, const std::string& machine, const std::string& program = "") {
    said_ = simrun(fmt::format("{} -q --config {} --json {} {}", command, machine, file("json"), program));
    return counted(read("json"));
  }
  json sim(const std::string& options, const std::string& machine = "l3_8core") {
    const json results = results_of("sim " + file("t") + " " + options, machine);
    EXPECT_EQ(status_, 0) << said_;
    return results;
  }
  json record(const std::string& program, const std::string& machine = "l3_8core") {
    const json results = results_of("record -o " + file("t"), machine, "-- " + program);
    EXPECT_EQ(results["exit_status"], 3) << said_;
    return results;
  }
  // `machine` with `from` replaced by `to` in its text.
  std::string changed(const std::string& machine, const std::string& from, const std::string& to) {
    std::string text = simrun("config --json " + machine);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << text;
    std::ofstream(file("changed.yaml")) << text.replace(at, from.size(), to);
    return file("changed.yaml");
  }

  std::string said_;
};

TEST_F(SimCommand, SlicesEqualTheLiveRun) {
  const json live = record(kMarked + " 30 3");
  EXPECT_GT(live["transfers"].size(), 0u);
  for (const char* options : {"--check", "--sim-threads 2", "--sim-threads 4 --check"})
    EXPECT_EQ(json::diff(live, sim(options)), json::array()) << options;
  EXPECT_EQ(said_, "");
}

// Also on fewer cores than there are threads at a time, of which the recording knew nothing.
TEST_F(SimCommand, InstructionsOfCoresAddUpToTheWhole) {
  simrun(fmt::format("record -q -o {} -- {} 30 5", file("t"), kMarked));
  for (const char* machine : {"l3_1core", "l3_4core", "l3_8core"}) {
    SCOPED_TRACE(machine);
    const json result = sim("", machine);
    uint64_t instructions = 0, cycles = 0;
    for (const json& core : result["cores"]) {
      instructions += core["instructions"].get<uint64_t>();
      cycles += core["base_cycles"].get<uint64_t>();
    }
    EXPECT_EQ(instructions, result["totals"]["instructions"]);
    EXPECT_GE(cycles, instructions);
    ASSERT_EQ(result["threads"].size(), 6u);
    for (const json& thread : result["threads"]) EXPECT_LT(thread["core"], result["cores"].size());
  }
}

// Where the threads were before the start is known in each chunk.
TEST_F(SimCommand, PartsOfATraceHaveThreadsOnTheirCores) {
  results_of("record --chunk-size 64KiB -o " + file("t"), "l3_4core", "-- " + kMarked + " 60 6");
  ASSERT_GT(info("t")["chunks"], 3u);
  for (const char* options : {"--from 150000", "--warm-up 150000", "--from 100 --to 150000"}) {
    SCOPED_TRACE(options);
    const json result = sim(options, "l3_4core");
    uint64_t instructions = 0;
    for (const json& core : result["cores"]) instructions += core["instructions"].get<uint64_t>();
    EXPECT_EQ(instructions, result["totals"]["instructions"]);
    for (const json& thread : result["threads"]) EXPECT_LT(thread["core"], 4u);
  }
}

TEST_F(SimCommand, FromBehindTheEndIsSaid) {
  simrun(fmt::format("record -q -o {} -- {} 3", file("t"), kMarked));
  EXPECT_THAT(simrun(fmt::format("sim -c l3_1core --from {} {}", ~uint64_t{0}, file("t"))), HasSubstr("nothing to simulate"));
  EXPECT_THAT(simrun(fmt::format("sim -c l3_1core --from 9 --to 9 {}", file("t"))), HasSubstr("--to must lie behind --from"));
  EXPECT_THAT(simrun(fmt::format("sim -c l3_1core --from 9 --warm-up 20 --to 29 {}", file("t"))), HasSubstr("warm-up, which begins at --from and ends at instruction 29"));
}

// What was counted until a signal came is reported, and the signal ends simrun; before anything was counted there are no results.
TEST_F(SimCommand, ASignalEndsItEarly) {
  simrun(fmt::format("record -q --chunk-size 64KiB -o {} -- /bin/sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done'", file("t")));
  const uint64_t whole = info("t")["instructions"];
  bool seen = false;
  for (int k = 8; !seen && k < 100; k += 8) {
    std::filesystem::remove(file("j"));
    const std::string said = run(fmt::format("timeout --preserve-status -s TERM 0.{:02} {} sim -q -c l3_1core --details --json {} {} 2>&1", k,
                                             SIMRUN_EXECUTABLE, file("j"), file("t")));
    if (status_ == 0) continue;
    ASSERT_EQ(status_, 128 + SIGTERM) << said;
    if (said.empty()) continue;   // before it was asked for
    ASSERT_THAT(said, HasSubstr("ended by signal 15"));
    if (!std::filesystem::exists(file("j"))) {
      EXPECT_THAT(said, HasSubstr("before anything was counted"));
      continue;
    }
    const json results = read("j");
    EXPECT_THAT(results["error"].get<std::string>(), HasSubstr("these are the first"));
    EXPECT_LT(results["totals"]["instructions"], whole);
    EXPECT_GT(results["totals"]["instructions"], 0u);
    seen = true;
  }
  EXPECT_TRUE(seen);
}

// What the recorder adds has names, too.
TEST_F(SimCommand, EventsOfTheRecorderHaveNames) {
  simrun(fmt::format("record -q -c l3_4core -o {} -- {} 3 2", file("t"), kMarked));
  const std::string text = simrun(fmt::format("convert -q {} --to text -o -", file("t")));
  EXPECT_THAT(text, HasSubstr("! core "));
  EXPECT_THAT(text, HasSubstr("! process-start 0"));
  EXPECT_THAT(text, testing::Not(HasSubstr("! event-")));
}

TEST_F(SimCommand, MoreThreadsThanCoresIsSaid) {
  simrun(fmt::format("record -q -o {} -- {} 30 5", file("t"), kMarked));
  EXPECT_THAT(sim("", "l3_1core")["warnings"].dump(), HasSubstr("6 threads, more at a time than the machine has cores (1)"));
  EXPECT_EQ(sim("", "l3_8core")["warnings"].size(), 0u);
}

TEST_F(SimCommand, WarmUpBehindTheEndOfAProcess) {
  simrun("record -q -o " + file("t") + " -- sh -c 'ls / | cat; /bin/true; /bin/true'");
  const json whole = sim("");
  const uint64_t all = whole["totals"]["instructions"];
  for (const uint64_t part : {all / 4, all / 2, all * 3 / 4}) {
    const json before = sim(fmt::format("--to {}", part)), behind = sim(fmt::format("--warm-up {}", part));
    EXPECT_EQ(before["totals"]["instructions"].get<uint64_t>() + behind["totals"]["instructions"].get<uint64_t>(), all) << part;
  }
}

// Lines of memory that processes share are named by who had them first.
TEST_F(SimCommand, DetailsOfSharedMemoryAreOfAProcess) {
  simrun("record -q -o " + file("t") + " -- sh -c 'ls / | cat; /bin/true'");
  const json result = sim("--details --top 100000");
  ASSERT_GT(result["hot_lines"].size(), 100u);
  for (const json& line : result["hot_lines"]) {
    ASSERT_LT(line["process"], result["processes"].size()) << line;
    ASSERT_GE(line["address"], 0x400000u) << line;
  }
}

// An interval ends with the path in which its last instruction is; together they are the whole.
TEST_F(SimCommand, IntervalsAddUpToTheWhole) {
  const json live = record(kMarked + " 30 3");
  for (const char* options : {"", "--sim-threads 2", "--details"}) {
    SCOPED_TRACE(options);
    const json result = sim(std::string("--interval 10000 ") + options);
    const json& intervals = result["intervals"];
    ASSERT_GT(intervals.size(), 3u);
    uint64_t instructions = 0, misses = 0;
    for (size_t i = 0; i < intervals.size(); ++i) {
      EXPECT_EQ(instructions / 10000, i);
      EXPECT_LT(instructions % 10000, 64u);  // a path
      instructions += intervals[i]["instructions"].get<uint64_t>();
      misses += intervals[i]["levels"]["L1D"]["misses"].get<uint64_t>();
    }
    EXPECT_EQ(instructions, result["totals"]["instructions"]);
    for (const json* whole : {&result, &live}) {
      for (const json& level : (*whole)["levels"]) {
        if (level["name"] != "L1D") continue;
        EXPECT_EQ(misses, level["misses"]);
      }
    }
  }
}

TEST_F(SimCommand, WhatCannotBeCutEqualsTheLiveRun) {
  json live = record(kMarked + " 30 3", "amd_ryzen_7950x");
  const json sliced = sim("--sim-threads 2", "amd_ryzen_7950x");
  EXPECT_THAT(said_, HasSubstr("simulated by one thread: "));
  EXPECT_EQ(sliced["warnings"].size(), 1u);
  live["warnings"] = sliced["warnings"];
  EXPECT_EQ(json::diff(live, sliced), json::array());
}

TEST_F(SimCommand, MachinesOfASweepEqualTheLiveRun) {
  const json live = record(kMarked + " 30 3");
  const json sweep = sim("--check --sim-threads 2 --sweep L1.data.size=16KiB,32KiB");
  ASSERT_EQ(sweep["sweep"].size(), 2u);
  const json alone = sim("", changed("l3_8core", "\"size\": 32768", "\"size\": 16384"));
  EXPECT_NE(alone["levels"], live["levels"]);
  for (const char* key : {"levels", "cores", "memory", "transfers"}) {
    EXPECT_EQ(sweep["sweep"][0][key], alone[key]) << key;
    EXPECT_EQ(sweep["sweep"][1][key], live[key]) << key;
  }
  EXPECT_EQ(sweep["totals"], live["totals"]);
}

// Machines with and without TLBs and prefetchers, of processes that share memory: each names it for itself.
TEST_F(SimCommand, MachinesOfSeveralFilesEqualEachAlone) {
  record(fmt::format("sh -c '{0} 60 > /dev/null & {0} 80; {0} 5; wait; exit 3'", kMarked));
  for (const char* part : {"", "--warm-up 1500k", "--from 300k --to 5M --warm-up 1M"}) {
    SCOPED_TRACE(part);
    const json both = results_of(fmt::format("sim --check -c intel_i9_13900k {}", part), "l3_8core", file("t"));
    ASSERT_EQ(both["sweep"].size(), 2u);
    EXPECT_GT(both["processes"].size(), 3u);
    for (const json& one : both["sweep"]) {
      const json alone = results_of(fmt::format("sim {}", part), one["settings"]["config"], file("t"));
      EXPECT_EQ(both["totals"], alone["totals"]);
      for (const char* key : {"configuration", "levels", "cores", "memory", "transfers", "threads", "processes"}) EXPECT_EQ(one[key], alone[key]) << key;
    }
    const json alone = sim(part);
    for (const char* slices : {"--sim-threads 2 ", "--check --sim-threads 4 "}) EXPECT_EQ(json::diff(sim(slices + std::string(part)), alone), json::array()) << slices;
  }
}

TEST_F(SimCommand, MissCurveEqualsTheLiveRun) {
  const json recorded = record(kMarked + " 30");
  const json live = results_of("run --miss-curve L1D", "l3_8core", "-- " + kMarked + " 30");
  const json again = sim("--miss-curve L1D --check");
  EXPECT_GT(again["miss_curve"]["points"].size(), 10u);
  EXPECT_EQ(live["miss_curve"], again["miss_curve"]);
  for (const char* key : {"levels", "memory"}) {
    EXPECT_EQ(live[key], again[key]) << key;
    EXPECT_EQ(recorded[key], again[key]) << key;
  }
}

// All numbers of JSON, by their path as CSV has it.
void collect(const std::string& path, const json& value, std::map<std::string, json>& numbers) {
  if (value.is_number()) {
    numbers[path] = value;
  } else if (value.is_structured()) {
    for (const auto& [key, inner] : value.items()) {
      const bool named = value.is_array() && inner.is_object() && inner.contains("name");
      const std::string& word = named ? inner["name"].get_ref<const std::string&>() : key;
      collect(path.empty() ? word : path + "/" + word, inner, numbers);
    }
  }
}

uint64_t attribute(hid_t hdf5, const std::string& object, const char* name) {
  uint64_t value = ~uint64_t{0};
  const hid_t a = H5Aopen_by_name(hdf5, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT);
  H5Aread(a, H5T_NATIVE_UINT64, &value);
  H5Aclose(a);
  return value;
}

TEST_F(SimCommand, CsvAndHdf5SayWhatTheLiveRunFound) {
  const json live = record(kMarked + " 30 3");
  sim("--csv " + file("csv") + " --hdf5 " + file("h5"));
  std::map<std::string, json> expected;
  collect("", live, expected);
  ASSERT_GT(expected.size(), 1000u);
  std::ifstream csv(file("csv"));
  std::map<std::string, json> found;
  for (std::string line; std::getline(csv, line);)
    if (const size_t comma = line.rfind(','); line[0] == '"')
      found[line.substr(1, comma - 2)] = json::parse(line.substr(comma + 1));
  for (const auto& [path, value] : expected) EXPECT_EQ(found[path], value) << path;

  const hid_t hdf5 = H5Fopen(file("h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(hdf5, 0);
  for (const json& level : live["levels"]) {
    const std::string name = "/levels/" + level["name"].get<std::string>();
    EXPECT_EQ(attribute(hdf5, name, "misses"), level["misses"]);
    EXPECT_EQ(attribute(hdf5, name + "/events", "invalidations_received"), level["events"]["invalidations_received"]);
  }
  EXPECT_EQ(attribute(hdf5, "/totals", "instructions"), live["totals"]["instructions"]);
  H5Fclose(hdf5);
}

}  // namespace
}  // namespace simrun
