// simrun from outside: runs it in a folder of the test's own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace simrun::cli {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class RunCommand : public testing::Test {
 protected:
  RunCommand() { fs::create_directory(directory_); }
  ~RunCommand() override { fs::remove_all(directory_); }

  // Starts simrun in a process group of its own; standard output and error go to files.
  pid_t start(const Words& arguments) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setpgid(0, 0);
    dup2(open(out().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    std::vector<char*> argv{const_cast<char*>(SIMRUN_EXECUTABLE)};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(SIMRUN_EXECUTABLE, argv.data());
    _exit(99);
  }
  static int wait_for(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  int run(const Words& arguments) { return wait_for(start(arguments)); }
  // Until the program has written a line.
  bool wait_for_output() {
    for (int i = 0; i < 3000; ++i) {
      if (read_file(out()).find('\n') != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  nlohmann::json results() const { return nlohmann::json::parse(read_file(json())); }
  std::string out() const { return directory_ / "out"; }
  std::string err() const { return directory_ / "err"; }
  std::string json() const { return directory_ / "result.json"; }

  const fs::path directory_ = fs::temp_directory_path() / ("simrun_run_command_test" + std::to_string(getpid()));
};

}  // namespace simrun::cli

#define EXPECT_EXITS(status, code)               \
  do {                                           \
    const int s = (status);                      \
    EXPECT_TRUE(WIFEXITED(s)) << "status " << s; \
    EXPECT_EQ(WEXITSTATUS(s), code);             \
  } while (0)

#define EXPECT_SIGNALED(status, signal)            \
  do {                                             \
    const int s = (status);                        \
    EXPECT_TRUE(WIFSIGNALED(s)) << "status " << s; \
    EXPECT_EQ(WTERMSIG(s), signal);                \
    EXPECT_FALSE(WCOREDUMP(s));                    \
  } while (0)
