#include "run_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/user_error.h"

namespace simrun::host {
namespace {

std::string drain(int fd) {
  std::string content;
  char buffer[65536];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) content.append(buffer, static_cast<size_t>(n));
  close(fd);
  return content;
}

int temporary(const char* name, const std::string& content = {}) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  lseek(fd, 0, SEEK_SET);
  return fd;
}

// What the process that calls launch() reports back, in shared memory.
struct Report {
  int wait_status = -1;
  int refused_status = 0;
  uint32_t engine_state = 0;
  char refused[2048] = {}, failure[1024] = {}, warning[1024] = {};
};

template <class Function>
Outcome in_new_process(const Setting& setting, Function&& work) {
  const int in = temporary("in", setting.input), out = temporary("out"), err = temporary("err");
  void* shared = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Report& report = *new (shared) Report;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in, 0), dup2(out, 1), dup2(err, 2);
    if (setting.before) setting.before();
    work(report);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << "the process that starts the program ended badly";
  close(in);
  Outcome o{report.wait_status, drain(out), drain(err), report.refused, report.refused_status, report.failure, report.engine_state, {}};
  if (report.warning[0]) o.warnings.emplace_back(report.warning);
  munmap(shared, sizeof(Report));
  return o;
}

void launch_and_wait(const LaunchOptions& options, const Setting& setting, Report& report) {
  try {
    Launched launched = launch(options);
    const std::vector<std::string> warnings = launched.warnings;
    const auto target = std::make_unique<Target>(std::move(launched));
    if (setting.during) setting.during(*target);
    while (target->running()) usleep(200);
    report.wait_status = target->wait_status();
    report.engine_state = target->header().engine_state;
    std::strcpy(report.failure, target->header().failure);
    if (!warnings.empty()) std::strncpy(report.warning, warnings[0].c_str(), sizeof report.warning - 1);
  } catch (const UserError& e) {
    std::strncpy(report.refused, e.what(), sizeof report.refused - 1);
    report.refused_status = e.exit_status;
  }
}

}  // namespace

Outcome run_natively(const std::vector<std::string>& command, const Setting& setting) {
  return in_new_process(setting, [&](Report& report) {
    const pid_t pid = fork();
    if (pid == 0) {
      std::vector<char*> argv;
      for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      if (!setting.aslr) personality(static_cast<unsigned long>(personality(0xffffffff)) | ADDR_NO_RANDOMIZE);
      execvp(argv[0], argv.data());
      _exit(errno == ENOENT ? 127 : 126);
    }
    waitpid(pid, &report.wait_status, 0);
  });
}

Outcome run_launched(LaunchOptions options, const Setting& setting) {
  if (options.engine_path.empty()) options.engine_path = STUB_ENGINE;
  options.aslr = setting.aslr;
  return in_new_process(setting, [&](Report& report) { launch_and_wait(options, setting, report); });
}

Outcome run_launched(const std::vector<std::string>& command, const Setting& setting) {
  LaunchOptions options;
  options.command = command;
  return run_launched(options, setting);
}

std::string guest(const char* name) { return std::string(GUESTS) + "/" + name; }

}  // namespace simrun::host
