// Regions of the distribution's programs, of programs with marks, and of programs that fork.
#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "tests/traces/record_command.h"

namespace simrun {
namespace {

class RegionCommand : public RecordCommand {
 protected:
  RegionCommand() { std::ofstream(file("input")) << run("head -c 3000 " + std::string(SIMRUN_EXECUTABLE)); }

  struct Step {
    uint32_t thread;
    uint64_t pc;
    auto operator<=>(const Step&) const = default;
  };
  // The instructions of a trace.
  std::vector<Step> steps(const std::string& trace) {
    EXPECT_EQ(simrun(fmt::format("convert -q --to csv {} -o {}", file(trace), file("steps.csv"))), "");
    std::ifstream in(file("steps.csv"));
    std::vector<Step> all;
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      std::string number, thread, pc, kind;
      std::getline(fields, number, ',') && std::getline(fields, thread, ',') && std::getline(fields, pc, ',') &&
          std::getline(fields, kind, ',');
      if (kind == "fetch") all.push_back({static_cast<uint32_t>(std::stoul(thread)), std::stoull(pc, nullptr, 16)});
    }
    return all;
  }

  // A place in the code of `module` that was executed between 20 and 500 times, the most often executed of these, and where
  // it is in the file.
  struct Place {
    uint64_t times = 0, file_offset = 0, pc = 0;
    std::string module;
  };
  Place find_place(const std::string& trace, const std::string& module) {
    std::map<uint64_t, uint64_t> times;
    for (const Step& s : steps(trace)) ++times[s.pc];
    Place best;
    const json modules = info(trace)["modules"];
    for (const json& m : modules) {
      const std::string path = m["path"];
      if (fs::path(path).filename() != module) continue;
      const uint64_t start = number(m["start"]), end = number(m["end"]);
      for (const auto& [pc, count] : times)
        if (pc >= start && pc < end && count >= 20 && count <= 500 && count > best.times)
          best = {count, pc - start + number(m["file_offset"]), pc, module};
    }
    EXPECT_GT(best.times, 0u);
    return best;
  }
  static uint64_t number(const json& value) {
    return value.is_string() ? std::stoull(value.get<std::string>(), nullptr, 0) : value.get<uint64_t>();
  }

  // Addresses change from run to run: the place's in this trace.
  uint64_t address_of(const std::string& trace, const Place& place) {
    const json modules = info(trace)["modules"];
    for (const json& m : modules) {
      const uint64_t start = number(m["start"]), offset = number(m["file_offset"]);
      if (fs::path(m["path"].get<std::string>()).filename() == place.module && place.file_offset >= offset &&
          place.file_offset - offset < number(m["end"]) - start)
        return start + place.file_offset - offset;
    }
    return 0;
  }
  uint64_t executions(const std::string& trace, uint64_t pc) {
    const std::vector<Step> all = steps(trace);
    return static_cast<uint64_t>(std::count_if(all.begin(), all.end(), [&](const Step& s) { return s.pc == pc; }));
  }
};

// From the fifth execution to the tenth after that: at most one superblock off at each end.
TEST_F(RegionCommand, GzipByOffset) {
  const std::string program = "gzip -c " + file("input") + " >/dev/null";
  simrun("record -q -o " + file("whole") + " -- " + program);
  const Place place = find_place("whole", "gzip");
  record_and_simulate(fmt::format("--from gzip+0x{:x}:5 --to gzip+0x{:x}:10 --stop", place.file_offset, place.file_offset),
                      program);
  EXPECT_TRUE(info("t")["summary"]["region"]["reached_its_end"]);
  EXPECT_TRUE(info("t")["summary"]["stopped_as_asked"]);
  EXPECT_NEAR(static_cast<double>(executions("t", address_of("t", place))), 10, 1);
}

TEST_F(RegionCommand, PythonByFunction) {
  record_and_simulate("--from PyList_Append:20 --to PyList_Append:15 --stop",
                      "/usr/bin/python3 -S -E -c 'print(sum([x * x for x in range(100)]))'");
  EXPECT_TRUE(info("t")["summary"]["region"]["reached_its_end"]);
  EXPECT_GT(info("t")["instructions"], 1000);
  const std::string calls = simrun("view " + file("t") + " --all --follow PyList_Append");
  EXPECT_THAT(calls.substr(0, calls.find('\n', calls.find('\n') + 1)), HasSubstr(" 0 t0"));  // it starts with one
}

// A function of a shared library, whose program runs on to its end and says what it says alone.
TEST_F(RegionCommand, SqliteByFunctionOfALibrary) {
  const std::string program = "sqlite3 :memory: 'create table t(a); insert into t values(1),(2); select sum(a) from t; select 5;'";
  EXPECT_EQ(simrun(fmt::format("record -q -o {} --from sqlite3_step:2 --to sqlite3_step:2 -- {}", file("u"), program)), "3\n5\n");
  record_and_simulate("--from sqlite3_step:2 --to sqlite3_step:2", program);
  const std::string steps_taken = simrun("view " + file("t") + " --all --no-symbols --follow sqlite3_step");
  EXPECT_EQ(std::count(steps_taken.begin(), steps_taken.end(), '\n'), 2) << steps_taken;
}

TEST_F(RegionCommand, GzipByInstructions) {
  record_and_simulate("--region 100k..250k --stop", "gzip -c " + file("input") + " >/dev/null");
  EXPECT_NEAR(info("t")["instructions"].get<double>(), 150'000, 300);
}

constexpr double kRound = 998;  // of smooth(): executions of its inner loop, of about ten instructions

TEST_F(RegionCommand, MarksOfOtherSimulators) {
  record_and_simulate("--region marker:0x111..marker:0x222", SSC_PROGRAM);
  EXPECT_GT(info("t")["instructions"], 10 * kRound * 5);
  EXPECT_LT(info("t")["instructions"], 10 * kRound * 20);
  EXPECT_EQ(info("t")["threads"].size(), 1u);
}

// The child reaches the marks; the parent, which works at the same time, is in the region too.
TEST_F(RegionCommand, MarksOfAChild) {
  record_and_simulate("--region marker:0x111..marker:0x222 --stop", SSC_PROGRAM " fork");
  const json trace = info("t");
  ASSERT_GE(trace["processes"].size(), 2u);
  EXPECT_GT(trace["processes"][1]["instructions"], 10 * kRound * 5);
  EXPECT_TRUE(trace["summary"]["stopped_as_asked"]);
}

// The function is in a program that a shell's child executes.
TEST_F(RegionCommand, FunctionInAProgramThatIsExecuted) {
  record_and_simulate("--from inflate --to inflate:3",
                      "/bin/sh -c '/usr/bin/python3 -S -E -c \"import zlib; d = zlib.compress(bytes(5000)); "
                      "[zlib.decompress(d) for k in range(9)]\"; echo done'");
  EXPECT_TRUE(info("t")["summary"]["region"]["reached_its_end"]);
  const std::string calls = simrun("view " + file("t") + " --all --no-symbols --follow inflate");
  EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 3) << calls;
}

}  // namespace
}  // namespace simrun
