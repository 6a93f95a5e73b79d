// simrun record, sim and check on real programs.
#include "tests/traces/record_command.h"

#include <sys/stat.h>

#include <chrono>
#include <map>
#include <regex>
#include <vector>

namespace simrun {
namespace {

const std::string kForking = FORKING_PROGRAM;
// Prefetchers by instruction and by stream, TLBs.
const std::string kWithPrefetchers = "amd_ryzen_7950x.yaml";

TEST_F(RecordCommand, SimulationEqualsTheLiveRun) {
  const json results = record_and_simulate("--chunk-size 64KiB", kMarked + " 40");
  EXPECT_GT(results["totals"]["instructions"], 500'000);
  EXPECT_EQ(simrun("record -q -o " + file("u") + " -- " + kMarked), "64 20\n");
  EXPECT_EQ(status_, 3);
}

TEST_F(RecordCommand, SimulationEqualsTheLiveRunOfThreads) {
  const json results = record_and_simulate("--chunk-size 64KiB", kMarked + " 30 3");
  EXPECT_EQ(results["threads"].size(), 4u);
}

// More threads than cores come and go: one that waits from one chunk to the next has lost its core to others meanwhile.
TEST_F(RecordCommand, SimulationEqualsTheLiveRunOfMoreThreadsThanCores) {
  std::ofstream(file("two.yaml")) << "cores: 2\nlevels: [{name: L1, shared_by: private, size: 4KiB, ways: 4}, {name: L2, size: 64KiB, ways: 8}]\n";
  std::ofstream(file("pipe.sh")) << fmt::format("head -c 200000 {} | gzip -c | gzip -d | wc -c &\nwait\n", SIMRUN_EXECUTABLE);
  for (const char* options : {"--chunk-size 64KiB", "--chunk-size 64KiB --order recorded"}) {
    const json results = record_and_simulate(options, "sh " + file("pipe.sh"), file("two.yaml"));
    ASSERT_GE(results["threads"].size(), 5u);
    for (const json& thread : results["threads"]) EXPECT_EQ(thread["model"]["fetches"], thread["fetch_lines"]) << thread["index"];
  }
}

// The order in which the host ran the threads is the trace's too, and so for a region.
TEST_F(RecordCommand, SimulationEqualsTheLiveRunInRecordedOrder) {
  const json results = record_and_simulate("--order recorded --chunk-size 64KiB", kMarked + " 30 3");
  EXPECT_EQ(results["order"], "recorded");
  EXPECT_EQ(results["threads"].size(), 4u);
  record_and_simulate("--order recorded --region 200k..400k", kMarked + " 30 3", kWithPrefetchers);
  record_and_simulate("--order recorded --pin 1,0 --region marker:1..marker:2", kMarked + " 40 2");
  EXPECT_THAT(simrun("record -o " + file("t") + " --pin 1 -- true"), HasSubstr("--pin goes with --config"));
  EXPECT_EQ(status_, 2);
}

// A region's file describes the code that ran in it, not all of the program's.
TEST_F(RecordCommand, RegionsHoldTheCodeThatRan) {
  simrun("record -q -o " + file("whole") + " -- " + kMarked + " 40");
  record_and_simulate("--region 200k..400k", kMarked + " 40");
  const auto superblocks = [&](const std::string& name) {
    return info(name)["processes"][0]["superblocks"].get<double>();
  };
  EXPECT_GT(superblocks("t"), 0);
  EXPECT_LT(superblocks("t"), superblocks("whole") / 4);
}

uint64_t prefetches_issued(const json& results) {
  uint64_t sum = 0;
  for (const auto& level : results["levels"]) sum += level["events"]["prefetches_issued"].get<uint64_t>();
  return sum;
}

TEST_F(RecordCommand, SimulationEqualsTheLiveRunWithPrefetchersByPc) {
  EXPECT_GT(prefetches_issued(record_and_simulate("", kMarked + " 40", kWithPrefetchers)), 100u);
  record_and_simulate("", kMarked + " 30 3", kWithPrefetchers);
  record_and_simulate("--region 200k..400k", kMarked + " 30 3", kWithPrefetchers);
  record_and_simulate("--region marker:1..marker:2", kForking, kWithPrefetchers);
}

// Not the run that was recorded, but another one of the same program at the same addresses, without a recorder.
TEST_F(RecordCommand, SimulationEqualsALiveRunWithoutRecorder) {
  if (std::system("setarch -R true 2>/dev/null") != 0) GTEST_SKIP() << "addresses cannot be kept the same here";
  std::ofstream(file("input")) << run("head -c 100000 " + std::string(SIMRUN_EXECUTABLE));
  const std::string program = "gzip -c " + file("input") + " >/dev/null";
  run(fmt::format("setarch -R {} -q -c {} -j {} -- {}", SIMRUN_EXECUTABLE, kWithPrefetchers, file("live"), program));
  run(fmt::format("setarch -R {} record -q -o {} -- {}", SIMRUN_EXECUTABLE, file("t"), program));
  simrun(fmt::format("sim {} -q -c {} -j {}", file("t"), kWithPrefetchers, file("again")));
  json live = counted(read("live")), again = counted(read("again"));
  // The recorder hears of mappings: a few more words.
  for (json* results : {&live, &again}) {
    (*results)["totals"].erase("stream_words");
    for (const char* part : {"threads", "processes"})
      for (const char* key : {"tid", "pid", "stream_words"}) (*results)[part][0].erase(key);
  }
  EXPECT_GT(live["totals"]["instructions"], 1'000'000);
  EXPECT_EQ(json::diff(live, again), json::array());
}

// Processes and threads of a trace by themselves: together they are the whole.
TEST_F(RecordCommand, SimulatesOneProcessOrThread) {
  simrun("record -q -o " + file("t") + " -- " + kForking + " /bin/true");
  simrun("sim -q -c l3_8core.yaml -j " + file("all") + " " + file("t"));
  uint64_t instructions = 0, loads = 0;
  const size_t processes = info("t")["processes"].size();
  for (size_t k = 0; k < processes; ++k) {
    EXPECT_EQ(simrun(fmt::format("sim -q -c l3_8core.yaml --process {} -j {} {}", k, file("one"), file("t"))), "");
    const json one = read("one");
    EXPECT_EQ(one["totals"]["instructions"], info("t")["processes"][k]["instructions"]) << k;
    instructions += one["totals"]["instructions"].get<uint64_t>();
    loads += one["totals"]["loads"].get<uint64_t>();
  }
  EXPECT_EQ(read("all")["totals"]["instructions"], instructions);
  EXPECT_EQ(read("all")["totals"]["loads"], loads);
  simrun(fmt::format("sim -q -c l3_8core.yaml --thread 1 -j {} {}", file("one"), file("t")));
  EXPECT_EQ(read("one")["totals"]["instructions"], info("t")["processes"][1]["instructions"]);
  EXPECT_THAT(simrun("sim -q -c l3_8core.yaml --process 9 " + file("t")), HasSubstr("has no process 9"));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(simrun("sim -q -c l3_8core.yaml --thread 9 " + file("t")), HasSubstr("has no thread 9"));
}

TEST_F(RecordCommand, RegionsEqualTheLiveRun) {
  record_and_simulate("--from 300k --to 450k", kMarked + " 40");
  json region = info("t")["summary"]["region"];
  EXPECT_NEAR(region["first_instruction"].get<double>(), 300'000, 130);
  EXPECT_NEAR(region["last_instruction"].get<double>(), 450'000, 130);
  record_and_simulate("--region marker:1..marker:2", kMarked + " 40 2");
  record_and_simulate("--from work_step:3 --to work_step --stop", kMarked + " 10");
  EXPECT_TRUE(info("t")["summary"]["stopped_as_asked"]);
  const uint64_t one_step = info("t")["instructions"];
  EXPECT_GT(one_step, 10'000u);
  EXPECT_LT(one_step, 20'000u);
}

TEST_F(RecordCommand, RegionOfAWholeTraceEqualsTheRecordedRegion) {
  simrun("record -q -o " + file("whole") + " -- " + kMarked + " 40");
  simrun("record -q --from 200k --to 400k -o " + file("part") + " -- " + kMarked + " 40");
  simrun("sim -q -c l3_8core.yaml --from 200k --to 400k -j " + file("a") + " " + file("whole"));
  simrun("sim -q -c l3_8core.yaml -j " + file("b") + " " + file("part"));
  json a = counted(read("a")), b = counted(read("b"));
  for (json* results : {&a, &b})
    results->erase("started"), (*results)["threads"][0].erase("tid"), (*results)["processes"][0].erase("pid");
  EXPECT_EQ(json::diff(a, b), json::array());
}

TEST_F(RecordCommand, RegionsByTheNamesThatReportsPrint) {
  for (const char* name : {"shop::sell:2", "'shop::sell(long, long const*)':2", "'shop::sell(long,long const*)':2", "_ZN4shop4sellElPKl:2"}) {
    simrun("record -q -o " + file("t") + " --from " + name + " -- " + kMarked);
    EXPECT_EQ(status_, 3) << name;
    EXPECT_LT(info("t")["instructions"].get<uint64_t>(), 50'000u) << name;
    EXPECT_THAT(simrun("view " + file("t") + " --follow shop::sell"), HasSubstr("shop::sell(long, long const*)")) << name;
  }
  EXPECT_THAT(simrun("record -q -o " + file("t") + " --from 'shop::sell(int)' -- " + kMarked), HasSubstr("did not reach shop::sell(int)"));
}

TEST_F(RecordCommand, SaysWhenARegionIsNotReached) {
  EXPECT_THAT(simrun("record -o " + file("t") + " --from no_such_function -- " + kMarked),
              HasSubstr("error: nothing was recorded: the program did not reach no_such_function (no module of it has "
                        "that); it ended with status 3"));
  EXPECT_EQ(status_, 1);
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_THAT(simrun("record -q -o " + file("t") + " --from 99G -- sh -c 'kill -9 $$'"),
              HasSubstr("the program did not reach 99G; signal 9 ended it"));
  EXPECT_EQ(status_, 1);
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_THAT(simrun("record -o " + file("t") + " --from 5 --to 3 -- " + kMarked),
              HasSubstr("ends (3) before it starts (5)"));
  EXPECT_EQ(status_, 2);
  EXPECT_THAT(simrun("record -o " + file("t") + " --stop -- " + kMarked), HasSubstr("--stop needs"));
  EXPECT_EQ(status_, 2);
}

TEST_F(RecordCommand, NamesThatPromiseAnotherCompressionAreRefused) {
  EXPECT_THAT(simrun("record -o " + file("t.trace.gz") + " -- " + kMarked), HasSubstr("compressed in a way of its own, so not .gz"));
  EXPECT_EQ(status_, 2);
  EXPECT_TRUE(fs::is_empty(directory_));
}

// An instruction count is of the whole run, at the end of a region too.
TEST_F(RecordCommand, SaysWhenARegionEndsBeforeItStarts) {
  EXPECT_THAT(simrun("record -o " + file("t") + " --from main --to 500 -- " + kMarked), HasSubstr("nothing was recorded: "));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(simrun("record -o " + file("t") + " --to 0 -- " + kMarked), HasSubstr("--to 0: nothing comes before the first instruction"));
  EXPECT_EQ(status_, 2);
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_THAT(simrun("record -o " + file("t") + " --from main --to main -- " + kMarked),
              HasSubstr("ended before it reached main"));
  EXPECT_EQ(status_, 3) << "the program's own: something was recorded";
}

TEST_F(RecordCommand, ModulesAreThere) {
  simrun("record -q -o " + file("t") + " -- " + kMarked);
  std::string all;
  const json modules = info("t")["modules"];
  for (const auto& module : modules) all += module["path"].get<std::string>() + "\n";
  EXPECT_THAT(all, HasSubstr("marked_program\n"));
  EXPECT_THAT(all, HasSubstr("libc.so.6\n"));
  EXPECT_THAT(all, HasSubstr("[vdso]\n"));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("simrun-engine")));
}

TEST_F(RecordCommand, SimulationEqualsTheLiveRunOfProcesses) {
  const json results = record_and_simulate("--chunk-size 64KiB", kForking + " /bin/sh -c '/bin/true; echo a | cat'");
  const json trace = info("t");
  EXPECT_EQ(results["processes"].size(), trace["processes"].size());
  std::map<std::string, int> origins;
  for (const auto& process : trace["processes"]) {
    ++origins[process["origin"]];
    EXPECT_GT(process["instructions"], 0) << process;
    EXPECT_GT(process["superblocks"], 0) << process;
  }
  EXPECT_EQ(origins["launched"], 1);
  EXPECT_GE(origins["forked"], 3);
  EXPECT_GE(origins["executed"], 1);
}

// Each process has what is mapped in it: a copy its parent's, a spawned program nothing of it.
TEST_F(RecordCommand, ProcessesHaveTheirModules) {
  simrun("record -q -o " + file("t") + " -- " + kForking + " /bin/true");
  const json trace = info("t");
  ASSERT_EQ(trace["processes"].size(), 3u);
  EXPECT_EQ(trace["processes"][1]["parent"], 0);
  EXPECT_EQ(trace["processes"][2]["command"], "/bin/true");
  std::vector<std::string> modules(3);
  for (const auto& module : trace["modules"])
    modules.at(module["process"].get<size_t>()) += module["path"].get<std::string>() + "\n";
  EXPECT_EQ(modules[0], modules[1]);
  EXPECT_THAT(modules[0], HasSubstr("forking_program\n"));
  EXPECT_THAT(modules[2], HasSubstr("true\n"));
  EXPECT_THAT(modules[2], ::testing::Not(HasSubstr("forking_program")));
}

TEST_F(RecordCommand, ShowsOneProcess) {
  simrun("record -q -o " + file("t") + " -- " + kForking + " /bin/true");
  const json trace = info("t");
  const uint64_t wanted = trace["processes"][1]["instructions"];
  EXPECT_THAT(simrun("convert " + file("t") + " -q --to csv --process 1 -o " + file("c.csv")), "");
  uint64_t fetches = 0;
  std::ifstream csv(file("c.csv"));
  for (std::string line; std::getline(csv, line);) fetches += line.find(",fetch,") != std::string::npos;
  EXPECT_EQ(fetches, wanted);
  EXPECT_THAT(simrun("view " + file("t") + " --process 1 --follow child_step"), HasSubstr("child_step at"));
  EXPECT_THAT(simrun("view " + file("t") + " --process 2 --follow child_step -n 1"),
              ::testing::Not(HasSubstr("child_step at")));
  EXPECT_THAT(simrun("view " + file("t") + " --process 3"), HasSubstr("has no process 3"));
  EXPECT_NE(status_, 0);
}

// Markers and functions are met in whatever process reaches them first; --stop ends all of them.
TEST_F(RecordCommand, RegionsOfChildren) {
  record_and_simulate("--region marker:1..marker:2", kForking);
  EXPECT_GT(info("t")["processes"][1]["instructions"], 50'000);
  // The parent's ten calls and the child's: of 40 in all.
  record_and_simulate("--from child_step:12 --to child_step:5", kForking);
  const uint64_t steps = info("t")["instructions"];
  EXPECT_GT(steps, 20'000u);
  EXPECT_LT(steps, 60'000u);
  // Were one left, it would hold the pipe open.
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(simrun("record -q --to marker:2 --stop -o " + file("t") + " -- " + kForking + " /bin/sleep 60"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  EXPECT_TRUE(info("t")["summary"]["stopped_as_asked"]);
}

// What was recorded without a machine is put on cores as a live run puts it there. These are two runs: the shell works
// long enough between two children that one has ended in any case when the next one begins (docs/order.md, "What
// repeats"), and its own instructions depend on how many digits its parent's process number has.
TEST_F(RecordCommand, CoresAreThoseOfALiveRun) {
  const std::string program =
      "/bin/sh -c 'for k in 1 2 3 4 5 6 7 8 9 10; do /bin/true; i=0; while [ $i -lt 50 ]; do i=$((i+1)); done; done'";
  simrun("-q -c l3_8core.yaml -j " + file("live") + " -- " + program);
  simrun("record -q -o " + file("t") + " -- " + program);
  simrun("sim -q -c l3_8core.yaml -j " + file("again") + " " + file("t"));
  const json live = read("live"), again = read("again");
  ASSERT_EQ(live["threads"].size(), again["threads"].size());
  for (size_t k = 0; k < live["threads"].size(); ++k)
    EXPECT_EQ(live["threads"][k]["core"], again["threads"][k]["core"]) << k;
  for (size_t k = 0; k < live["cores"].size(); ++k) {
    EXPECT_NEAR(live["cores"][k]["instructions"], again["cores"][k]["instructions"], k == 0 ? 1000 : 0) << k;   // the shell's
    EXPECT_EQ(live["cores"][k]["context_switches"], again["cores"][k]["context_switches"]) << k;
  }
}

// More threads than cores: the slices of the machine that was simulated at the same time are in the trace.
TEST_F(RecordCommand, SimulationEqualsTheLiveRunOnFewCores) {
  const std::string config = file("two.yaml");
  const std::string text = run("cat " PROJECT_ROOT "/configs/machines/l3_8core.yaml");
  std::ofstream(config) << std::regex_replace(text, std::regex("cores: 8"), "cores: 2");
  simrun(fmt::format("record -q --time-slice 5000 -o {} -c {} -j {} -- {} 40 5", file("t"), config, file("live"),
                     kMarked));
  simrun(fmt::format("sim {} -q -c {} -j {}", file("t"), config, file("again")));
  EXPECT_EQ(json::diff(counted(read("live")), counted(read("again"))), json::array());
  EXPECT_GT(read("live")["cores"][0]["context_switches"], 3);
}

// kill -9 amid a recording: everything up to the last whole chunk can be used.
TEST_F(RecordCommand, KilledRecordingIsReadable) {
  const std::string command = fmt::format(
      "{} record -q --chunk-size 64KiB -o {} -- {} 1000000 >/dev/null & pid=$!; "
      "for k in $(seq 500); do [ $(stat -c %s {}.partial 2>/dev/null || echo 0) -gt 200000 ] && break; sleep 0.02; "
      "done; "
      "kill -9 $pid; wait $pid 2>/dev/null",
      SIMRUN_EXECUTABLE, file("t"), kMarked, file("t"));
  EXPECT_NE(std::system(("bash -c '" + command + "' 2>/dev/null").c_str()), -1);
  EXPECT_FALSE(fs::exists(file("t")));
  EXPECT_THAT(simrun("check " + file("t.partial")), HasSubstr("no violation in what is there"));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(simrun("info " + file("t.partial")), HasSubstr("not completed"));
  const std::string text = simrun(fmt::format("sim -c l3_8core.yaml {} --json {}", file("t.partial"), file("part")));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(text, HasSubstr("(how it ended was not recorded)\n   NOT COMPLETE: "));
  const json part = read("part");
  EXPECT_EQ(part["complete"], false);
  EXPECT_TRUE(part["exit_status"].is_null());
  EXPECT_THAT(part["error"].get<std::string>(), HasSubstr("the recording was not completed"));
  EXPECT_GT(part["totals"]["instructions"], 0);
  EXPECT_THAT(simrun("sim -q --to 1000 -c l3_8core.yaml " + file("t.partial")), HasSubstr("warning: "));
  EXPECT_EQ(status_, 0) << "all that was asked for is there";
}

TEST_F(RecordCommand, AFolderIsNoTrace) {
  EXPECT_THAT(simrun(fmt::format("record -o {} -- touch {}", directory_, file("was_run"))), HasSubstr("Is a directory"));
  EXPECT_EQ(status_, 1);
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_FALSE(fs::exists(directory_ + ".partial"));
}

// The recording was renamed over the device: with rights to it, /dev/null became a plain file for the whole machine.
TEST_F(RecordCommand, ADeviceOrPipeIsNoTrace) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  std::ofstream(file("din")) << "2 401000\n";
  fs::create_symlink(file("pipe"), file("link"));
  for (const char* name : {"pipe", "link"})
    for (const std::string& command : {"record -q -o " + file(name) + " -- touch " + file("was_run"),
                                       "convert " + file("din") + " --from din -o " + file(name)}) {
      EXPECT_THAT(simrun(command), HasSubstr("not a regular file"));
      EXPECT_EQ(status_, 1);
      EXPECT_TRUE(fs::is_fifo(file("pipe")));
    }
  EXPECT_FALSE(fs::exists(file("was_run")));
}

// One would take the other's place, without a word.
TEST_F(RecordCommand, TwoFilesAreNotOne) {
  simrun(fmt::format("record -q -o {} -- true", file("t")));
  const auto bytes = fs::file_size(file("t"));
  const std::string program = file("program");
  fs::copy_file("/bin/true", program);
  for (const std::string& command :
       {fmt::format("convert {} --to din -o {}", file("t"), directory_ + "/./t"),
        fmt::format("sim {} -c l3_1core -j {}", file("t"), file("t")),
        fmt::format("sim {} -c l3_1core -j {} --csv {}", file("t"), file("r"), file("r")),
        fmt::format("-c l3_1core -j {} --csv {} -- true", file("r"), file("r")),
        fmt::format("record -c l3_1core -o {} -j {} -- true", file("r"), file("r")), "record -o " + program + " -- " + program,
        "-c l3_1core -j " + program + " -- " + program, "sharing -c l3_1core -j " + program + " -- " + program}) {
    EXPECT_THAT(simrun(command), HasSubstr("are the same file: "));
    EXPECT_EQ(status_, 2) << command;
  }
  EXPECT_EQ(fs::file_size(file("t")), bytes);
  EXPECT_EQ(fs::file_size(program), fs::file_size("/bin/true"));
  EXPECT_FALSE(fs::exists(file("r")));
  simrun(fmt::format("sim {} -q -c l3_1core -j /dev/null --csv /dev/null", file("t")));
  EXPECT_EQ(status_, 0);
}

TEST_F(RecordCommand, WhatNeverBeganLeavesNoFile) {
  simrun(fmt::format("record -o {} -- {}", file("t"), file("nosuch")));
  EXPECT_EQ(status_, 127);
  std::ofstream(file("din")) << "";
  EXPECT_THAT(simrun(fmt::format("convert {} --from din -o {}", file("din"), file("t"))), HasSubstr("holds no instruction"));
  EXPECT_EQ(status_, 1);
  std::ofstream(file("din")) << "what is this\n";
  simrun(fmt::format("convert {} --from din -o {}", file("din"), file("t")));
  EXPECT_EQ(status_, 1);
  EXPECT_FALSE(fs::exists(file("t")));
  EXPECT_FALSE(fs::exists(file("t.partial")));
}

TEST_F(RecordCommand, OutputThatCannotBeWrittenIsAnError) {
  simrun(fmt::format("record -q -o {} -- /bin/true", file("t")));
  for (const std::string command : {"info", "info --json", "check", "view -n 3", "view --all"}) {
    EXPECT_THAT(run(fmt::format("{} {} {} 2>&1 >/dev/full", SIMRUN_EXECUTABLE, command, file("t"))),
                HasSubstr("No space left on device"))
        << command;
    EXPECT_EQ(status_, 1) << command;
  }
  for (const std::string command : {"config l3_8core", "completion bash", "--help"}) {
    EXPECT_THAT(run(fmt::format("{} {} 2>&1 >/dev/full", SIMRUN_EXECUTABLE, command)), HasSubstr("No space left on device"))
        << command;
    EXPECT_EQ(status_, 1) << command;
  }
}

// Cut off before its first chunk, or damaged there: whoever reads it says why there is nothing.
TEST_F(RecordCommand, NothingThatCanBeReadIsAnError) {
  simrun(fmt::format("record -q -o {} -- /bin/true", file("t")));
  const auto sections = [&](const std::string& how) {
    std::string bytes(fs::file_size(file("t")), 0);
    std::ifstream(file("t"), std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto second = 16 + 48 + static_cast<size_t>(*reinterpret_cast<const uint64_t*>(bytes.data() + 16 + 8));
    if (how == "cut")
      bytes.resize(second + 60);
    else
      bytes[second + 48 + 5] ^= 1;
    std::ofstream(file(how), std::ios::binary) << bytes;
  };
  sections("cut");
  sections("flipped");
  const std::string commands[] = {"sim -c l3_8core.yaml ", "check ", "convert --to din -o " + file("x.din") + " "};
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    EXPECT_THAT(simrun(command + file("cut")), HasSubstr("the recording was not completed"));
    EXPECT_EQ(status_, 1);
    EXPECT_THAT(simrun(command + file("flipped")), HasSubstr("the checksum of a section is wrong"));
    EXPECT_EQ(status_, 1);
  }
  EXPECT_FALSE(fs::exists(file("x.din")));
  EXPECT_FALSE(fs::exists(file("x.din.partial")));
}

// The limit of file sizes, lowered while it records, stands for a disk that is full.
TEST_F(RecordCommand, OneWriterOfAFile) {
  const std::string command = fmt::format("{} record -q -o {} --", SIMRUN_EXECUTABLE, file("w"));
  EXPECT_THAT(run(fmt::format("sh -c '{0} sleep 1 & sleep 0.4; {0} true; echo second $?; wait' 2>&1", command)),
              ::testing::AllOf(HasSubstr("another simrun is writing it"), HasSubstr("second 1")));
  simrun("check " + file("w"));
  EXPECT_EQ(status_, 0);
}

TEST_F(RecordCommand, FullDiskEndsTheRecordingOnly) {
  const std::string script = fmt::format(
      "{} record --chunk-size 64KiB -o {} -- {} 30000 & pid=$!; "
      "for k in $(seq 500); do [ $(stat -c %s {}.partial 2>/dev/null || echo 0) -gt 100000 ] && break; sleep 0.02; "
      "done; "
      "prlimit --pid $pid --fsize=600000; wait $pid; echo status $?",
      SIMRUN_EXECUTABLE, file("t"), kMarked, file("t"));
  std::string output = run("bash -c '" + script + "' 2>&1");
  std::erase(output, ',');
  EXPECT_THAT(output, HasSubstr(fmt::format("trace {}: {} instructions in ", file("t"), info("t")["instructions"].get<uint64_t>())));
  EXPECT_THAT(output, HasSubstr("the recording ended early"));
  EXPECT_THAT(output, HasSubstr(" 30000\n"));  // the program itself went on to its end
  EXPECT_THAT(output, HasSubstr("status 1\n"));
  EXPECT_THAT(simrun("check " + file("t")), HasSubstr("no violation"));
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(info("t")["complete"], false);
  EXPECT_THAT(simrun(fmt::format("sim -q -c l3_1core --json {} {}", file("json"), file("t"))), HasSubstr("the recording ended early"));
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(read("json")["complete"], false);
}

// Details change no other count, and their sums are those counts. The live run is the recorded one: two may differ.
TEST_F(RecordCommand, DetailsOfATrace) {
  simrun(
      fmt::format("record -q -o {} --config l3_8core.yaml --json {} -- sh -c 'echo details'", file("t"), file("live")));
  const std::string text =
      simrun(fmt::format("sim {} --config l3_8core.yaml --details --json {}", file("t"), file("again")));
  ASSERT_EQ(status_, 0) << text;
  EXPECT_THAT(text, HasSubstr("misses by"));
  json live = read("live"), again = read("again");
  for (json& level : again["levels"]) {
    uint64_t classified = 0;
    for (const auto& [name, count] : level["miss_classes"].items()) classified += count.get<uint64_t>();
    EXPECT_EQ(classified, level["misses"].get<uint64_t>());
    EXPECT_GT(level["lifetimes"]["lines"].get<uint64_t>() + level["reuse"]["first"].get<uint64_t>(), 0u);
    for (const char* key : {"miss_classes", "lifetimes", "reuse"}) {
      level[key] = nullptr;
      for (json& cache : level["caches"]) cache[key] = nullptr;
    }
  }
  EXPECT_EQ(json::diff(live["levels"], again["levels"]), json::array());
  ASSERT_FALSE(again["hot_instructions"].empty());
  EXPECT_NE(again["hot_instructions"][0]["module"], "");
  EXPECT_FALSE(again["hot_lines"].empty());
}

TEST_F(RecordCommand, NamesTheOrder) {
  simrun(fmt::format("record -q -o {} -- true", file("t")));
  simrun(fmt::format("sim {} -q --config l3_1core.yaml --json {}", file("t"), file("again")));
  EXPECT_EQ(read("again")["order"], "virtual");
  simrun(fmt::format("-q --order recorded --config l3_1core.yaml --json {} -- true", file("live")));
  EXPECT_EQ(read("live")["order"], "recorded");
}

}  // namespace
}  // namespace simrun
