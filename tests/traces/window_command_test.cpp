// `simrun run` of a part of a run: the same as recording that part, and as simulating that part of the whole recording.
#include <functional>
#include <vector>

#include "tests/traces/record_command.h"

namespace simrun {
namespace {

class WindowCommand : public RecordCommand {
 protected:
  // What `simrun OPTIONS` says of the machine and the threads, without what belongs to one execution.
  json results_of(const std::string& options, const std::string& program = "") {
    said_ = simrun(fmt::format("{} -q --json {} {}", options, file("json"), program));
    const json all = read("json");
    json results = counted(all);
    for (const char* key : {"exit_status", "process", "region"}) region_[key] = all[key], results.erase(key);
    const std::function<void(json&)> strip = [&](json& of) {
      for (const char* key : {"pid", "tid", "command", "ended", "cut_off", "start_clock", "end_clock"})
        if (of.is_object()) of.erase(key);
      if (of.is_structured())
        for (json& inner : of) strip(inner);
    };
    strip(results);
    return results;
  }
  json run(const std::string& options, const std::string& program) { return results_of(options, "-- " + program); }

  json region_;
  std::string said_;
};

TEST_F(WindowCommand, EqualsTheRecordingOfTheRegion) {
  for (const char* machine : {"l3_8core", "amd_ryzen_7950x"})
    for (const char* region : {"200k..400k", "marker:1..marker:2", "work_step:2..work_step:5", "150k..", "..300k", "300k..shop::sell:2"}) {
      SCOPED_TRACE(fmt::format("{} {}", machine, region));
      const json recorded = run(fmt::format("record -c {} -o {} --region {}", machine, file("t"), region), kMarked + " 30");
      const json results = run(fmt::format("-c {} --region {}", machine, region), kMarked + " 30");
      EXPECT_EQ(json::diff(recorded, results), json::array()) << said_;
      EXPECT_EQ(region_["exit_status"], 3);
      EXPECT_TRUE(region_["region"]["reached_its_end"]);
      EXPECT_EQ(results["totals"]["instructions"],
                region_["region"]["last_instruction"].get<uint64_t>() - region_["region"]["first_instruction"].get<uint64_t>());
    }
}

TEST_F(WindowCommand, WarmUpEqualsThatOfTheTrace) {
  simrun(fmt::format("record -q -o {} -- {} 30", file("t"), kMarked));
  for (const char* machine : {"l3_8core", "amd_ryzen_7950x"})
    for (const char* part : {"--from 200003 --to 900k --warm-up 50001", "--from 200017 --warm-up 70011", "--warm-up 1M", "--to 900k --warm-up 300k --interval 20k",
                             "--from 300k --warm-up 100k --sweep L2.ways=4,8"}) {
      SCOPED_TRACE(fmt::format("{} {}", machine, part));
      const json sim = results_of(fmt::format("sim -c {} {} {}", machine, part, file("t")));
      EXPECT_EQ(json::diff(sim, run(fmt::format("-c {} {}", machine, part), kMarked + " 30")), json::array()) << said_;
      EXPECT_GT(sim["totals"]["instructions"], 100'000);
      EXPECT_EQ(said_, "117 30\n");
    }
}

// Events where a warm-up or an interval ends belong to the same side, system calls and what faults cut among them.
TEST_F(WindowCommand, EventsAtTheEndOfTheWarmUp) {
  for (const std::string program : {"stat -c %s /usr/include/stdio.h /usr/include/string.h", FAULTING_PROGRAM " 40"}) {
    simrun(fmt::format("record -q -o {} -- {}", file("t"), program));
    const uint64_t whole = info("t")["instructions"].get<uint64_t>();
    for (int k = 0; k < 8; ++k) {
      const std::string part = fmt::format("-c l3_1core --interval {} --from {} --warm-up {}", 1000 + whole / 100, whole / 2, 1000 + 531 * k);
      SCOPED_TRACE(program + " " + part);
      const json sim = results_of(fmt::format("sim {} {}", part, file("t")));
      ASSERT_EQ(json::diff(sim, run(part, program)), json::array());
      EXPECT_GT(sim["intervals"].size(), 9u);
    }
  }
}

// Bounds in the code are looked for path by path, also in a warm-up.
TEST_F(WindowCommand, WarmUpEndsWhileCodeIsWaitedFor) {
  for (const char* part : {"--from 200k --to shop::sell", "--from work_step:2 --to work_step:9", "--from marker:1 --to marker:2", "--to work_step:9"}) {
    SCOPED_TRACE(part);
    const json warm = run(fmt::format("-c l3_8core --check {} --warm-up 20k", part), kMarked + " 30");
    EXPECT_EQ(warm["complete"], true) << said_;
    const uint64_t first = region_["region"]["first_instruction"].get<uint64_t>(), last = region_["region"]["last_instruction"].get<uint64_t>();
    EXPECT_EQ(warm["totals"]["instructions"], last - first);
    const json whole = run(fmt::format("-c l3_8core {}", part), kMarked + " 30");
    EXPECT_EQ(region_["region"]["last_instruction"], last);
    const uint64_t before = first - region_["region"]["first_instruction"].get<uint64_t>();
    EXPECT_GE(before, 19'900u);
    EXPECT_LT(before, 20'100u);
    EXPECT_LE(warm["levels"][2]["misses"], whole["levels"][2]["misses"]);
  }
}

// What faults cut outside of the region is not in it.
TEST_F(WindowCommand, FaultsOutsideOfTheRegion) {
  const std::string faulting = FAULTING_PROGRAM " 200";
  for (const char* region : {"", "--to 20k", "--from store:30", "--from 180k --to 190k --warm-up 2k"}) {
    SCOPED_TRACE(region);
    const json results = run(fmt::format("-c l3_4core {}", region), faulting);
    ASSERT_EQ(results["complete"], true) << said_;
    for (const char* kind : {"fetches", "loads", "stores"}) {
      uint64_t of_cores = 0;
      for (const json& core : results["cores"])
        of_cores += core[kind].get<uint64_t>() + (kind[0] == 'f' ? 0 : core["read_modify_writes"].get<uint64_t>());
      EXPECT_EQ(of_cores, results["totals"][kind[0] == 'f' ? "fetch_lines" : kind]) << kind;
    }
  }
}

// The caches are warm, and nothing of that is counted: misses of the whole, less those of the first part.
TEST_F(WindowCommand, WarmUpAndCountedPartAreTheWhole) {
  const auto misses = [](const json& results, size_t level) { return results["levels"][level]["misses"].get<uint64_t>(); };
  const json whole = run("-c l3_8core", kMarked + " 30"), warm = run("-c l3_8core --warm-up 500k", kMarked + " 30");
  const uint64_t begins = region_["region"]["first_instruction"].get<uint64_t>();
  const json first = run(fmt::format("-c l3_8core --to {}", begins), kMarked + " 30");
  EXPECT_EQ(region_["region"]["last_instruction"], begins);
  for (size_t level = 1; level < 4; ++level) EXPECT_EQ(misses(first, level) + misses(warm, level), misses(whole, level)) << level;
  EXPECT_GT(misses(first, 3), 0u);
}

TEST_F(WindowCommand, SlicesAndSweepsEqualOneMachine) {
  const std::string part = "--from 200k --to 1M --warm-up 50k ";
  const json one = run("-c l3_8core " + part, kMarked + " 30");
  EXPECT_EQ(json::diff(one, run("-c l3_8core --sim-threads 2 " + part, kMarked + " 30")), json::array());
  const json sweep = run("-c l3_8core --sweep L2.ways=8,16 " + part, kMarked + " 30");
  bool found = false;
  for (const json& point : sweep["sweep"])
    if (point["configuration"]["levels"] == one["configuration"]["levels"]) {
      found = true;
      EXPECT_EQ(point["levels"], one["levels"]);
      EXPECT_EQ(point["memory"], one["memory"]);
    }
  EXPECT_TRUE(found);
}

TEST_F(WindowCommand, MemoryTraceBeginsBehindTheWarmUp) {
  simrun(fmt::format("record -q -o {} -- {} 30", file("t"), kMarked));
  const std::string part = "-c l3_8core --from 200k --to 400k --warm-up 50k --memory-format csv --memory-trace ";
  results_of(fmt::format("sim {} {} {}", file("t"), part, file("a")));
  run(part + file("b"), kMarked + " 30");
  std::ifstream a(file("a")), b(file("b"));
  const std::string of_trace(std::istreambuf_iterator<char>(a), {}), of_run(std::istreambuf_iterator<char>(b), {});
  EXPECT_GT(of_trace.size(), 1000u);
  EXPECT_EQ(of_trace, of_run);
}

TEST_F(WindowCommand, ThreadsOfTheRegionAddUpToIt) {
  for (const char* region : {"200k..900k", "marker:1..marker:2", "500k.."}) {
    SCOPED_TRACE(region);
    const json results = run(fmt::format("-c l3_4core --check --region {}", region), kMarked + " 30 3");
    EXPECT_EQ(results["complete"], true) << said_;
    uint64_t threads = 0, cores = 0;
    for (const json& thread : results["threads"]) threads += thread["instructions"].get<uint64_t>();
    for (const json& core : results["cores"]) cores += core["instructions"].get<uint64_t>();
    const uint64_t all = region_["region"]["last_instruction"].get<uint64_t>() - region_["region"]["first_instruction"].get<uint64_t>();
    EXPECT_EQ(threads, all);
    EXPECT_EQ(cores, all);
  }
}

TEST_F(WindowCommand, DetailsAreOfTheRegion) {
  const json whole = run("-c l3_8core --details", kMarked + " 30"), part = run("-c l3_8core --details --region shop::sell..shop::sell:2", kMarked + " 30");
  const auto names = [](const json& results) {
    std::vector<std::string> all;
    for (const json& function : results["hot_functions"]) all.push_back(function["function"]);
    return all;
  };
  EXPECT_THAT(names(whole), ::testing::Contains("work_step"));
  EXPECT_THAT(names(part), ::testing::Contains(HasSubstr("shop::sell")));
  EXPECT_THAT(names(part), ::testing::Not(::testing::Contains("work_step")));
}

TEST_F(WindowCommand, SharingIsOfTheRegion) {
  const auto sharing = [&](const std::string& region) {
    said_ = simrun(fmt::format("sharing -q -n 5 -c l3_8core --json {} {} -- {} 30 3", file("json"), region, kMarked));
    return read("json");
  };
  const json whole = sharing(""), part = sharing("--region shop::sell..shop::sell:2");
  EXPECT_GT(whole["coherence_misses"], 100u) << said_;
  EXPECT_TRUE(whole["region"].is_null());
  EXPECT_EQ(part["coherence_misses"], 0u) << said_;  // the other threads have ended
  EXPECT_GT(part["instructions"], 0u);
  EXPECT_LT(part["instructions"], 200u);
  EXPECT_EQ(part["region"]["to"], "shop::sell:2");
}

TEST_F(WindowCommand, CountsWithoutAMachine) {
  const json results = run("--mode trace --region marker:1..marker:2", kMarked + " 30");
  const json simulated = run("-c l3_8core --region marker:1..marker:2", kMarked + " 30");
  EXPECT_EQ(results["totals"], simulated["totals"]);
}

// What it still has to do is more than its ring holds, so it is stopped before its end.
TEST_F(WindowCommand, StopEndsTheProgram) {
  const json results = run("-c l3_8core --from marker:1 --to marker:2 --stop", kMarked + " 300");
  EXPECT_EQ(status_, 0);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(region_["region"]["stopped_as_asked"], true);
  EXPECT_EQ(results["complete"], true);
  EXPECT_EQ(results["totals"], run("-c l3_8core --from marker:1 --to marker:2", kMarked + " 300")["totals"]);
}

TEST_F(WindowCommand, SaysWhyNothingIsThere) {
  const auto said = [&](const std::string& options) { return simrun(fmt::format("-q -c l3_8core {} -- {} 30", options, kMarked)); };
  EXPECT_THAT(said("--from marker:8"), HasSubstr("nothing was simulated: the program did not reach marker:8; it ended with status 3"));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(said("--from no_such"), HasSubstr("did not reach no_such (no module of it has that)"));
  EXPECT_THAT(said("--from marked_program+0x1"), HasSubstr("did not reach marked_program+0x1 (that module has no code there)"));
  EXPECT_THAT(said("--from work_step --to 1000"), HasSubstr("which is not before 1000"));
  EXPECT_THAT(said("--from marker:1 --to marker:2 --warm-up 1G"), HasSubstr("the region ended within the warm-up"));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(said("--from marker:1 --warm-up 1G"), HasSubstr("the program ended within the warm-up"));
  EXPECT_THAT(said("--warm-up 1G --json " + file("json")), HasSubstr("the program ended within the warm-up"));
  EXPECT_EQ(read("json")["levels"][1]["accesses"], 0);
  EXPECT_THAT(said("--from marker:1 --to marker:9"), HasSubstr("warning: the run ended before it reached marker:9"));
  EXPECT_THAT(said("--from marker:1 --to no_such"), HasSubstr("before it reached no_such (no module of it has that)"));
  EXPECT_EQ(status_, 3);
  for (const char* wrong : {"--stop", "--from 9 --to 8", "--mode count --from 5", "--mode null --to 5", "--region 5", "--warm-up 0",
                            "--warm-up 5 --details", "--warm-up 5 --miss-curve L1D", "--from 1 --region 1..2", "--to 0", "--region ..", "--from 10 --to 90 --warm-up 80"}) {
    EXPECT_THAT(said(wrong), HasSubstr("simrun: ")) << wrong;
    EXPECT_EQ(status_, 2) << wrong;
  }
}

}  // namespace
}  // namespace simrun
