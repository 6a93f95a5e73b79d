// simrun's commands from outside: a folder of its own for each test, and what the commands say.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace simrun {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

const std::string kMarked = MARKED_PROGRAM;

class RecordCommand : public ::testing::Test {
 protected:
  RecordCommand() {
    std::string name = (fs::temp_directory_path() / "simrun_record_XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~RecordCommand() override { fs::remove_all(directory_); }

  std::string file(const std::string& name) const { return directory_ + "/" + name; }

  // Standard output and error together; the exit status in status_.
  std::string simrun(const std::string& arguments) { return run(fmt::format("{} {} 2>&1", SIMRUN_EXECUTABLE, arguments)); }
  std::string run(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    std::string output;
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) != 0;) output.append(buffer, got);
    const int status = pclose(pipe);
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return output;
  }

  json read(const std::string& name) const {
    std::ifstream in(file(name));
    return json::parse(in);
  }
  json info(const std::string& trace) { return json::parse(simrun("info --json " + file(trace))); }

  // What a simulation found, without what a run of the program alone can know.
  static json counted(json results) {
    for (const char* key : {"engine", "speed", "started", "region"}) results.erase(key);  // started: to the second
    return results;
  }

  // Records with a live simulation, simulates the trace, and expects the same of both.
  json record_and_simulate(const std::string& options, const std::string& program,
                           const std::string& machine = "l3_8core.yaml") {
    const std::string recorded = simrun(fmt::format("record -q -o {} --config {} --json {} {} -- {}", file("t"), machine,
                                                    file("live"), options, program));
    simrun(fmt::format("sim {} -q --config {} --json {}", file("t"), machine, file("again")));
    EXPECT_EQ(status_, 0);
    EXPECT_EQ(json::diff(counted(read("live")), counted(read("again"))), json::array()) << recorded;
    EXPECT_THAT(simrun("check " + file("t")), HasSubstr("no violation"));
    EXPECT_EQ(status_, 0);
    return read("again");
  }

  std::string directory_;
  int status_ = 0;
};

}  // namespace simrun
