#include "cli/batch/job_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/user_error.h"

namespace simrun::cli {

namespace {

constexpr std::chrono::seconds kTimeToEnd{10};
constexpr int kCouldNotStart = 126;
// Of who calls simrun, for every program.
constexpr const char* kInherited[] = {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH"};

void open_as(const std::string& path, int flags, int descriptor) {
  const int opened = open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (opened < 0 || dup2(opened, descriptor) < 0) {
    dprintf(STDERR_FILENO, "simrun: %s: %s\n", path.c_str(), std::strerror(errno));
    _exit(kCouldNotStart);
  }
}

// In the child.
[[noreturn]] void become(const std::vector<std::string>& words, const configs::SuiteProgram& program, const JobFiles& files, pid_t parent) {
  open_as(files.errors, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  open_as(program.keeps_output ? files.output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  open_as(program.input.empty() ? "/dev/null" : program.input, O_RDONLY, STDIN_FILENO);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kCouldNotStart);
  const std::string& directory = program.directory.empty() ? files.work : program.directory;
  if (chdir(directory.c_str()) != 0) {
    dprintf(STDERR_FILENO, "simrun: %s: %s\n", directory.c_str(), std::strerror(errno));
    _exit(kCouldNotStart);
  }
  const auto environment = job_environment(program);
  clearenv();
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv = {const_cast<char*>("simrun")};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  dprintf(STDERR_FILENO, "simrun: cannot start itself: %s\n", std::strerror(errno));
  _exit(kCouldNotStart);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> job_environment(const configs::SuiteProgram& program) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto inherit = [&](const std::string& name) {
    if (const char* value = std::getenv(name.c_str())) all.emplace_back(name, value);
  };
  for (const char* name : kInherited) inherit(name);
  for (const std::string& name : program.inherit) inherit(name);
  all.insert(all.end(), program.environment.begin(), program.environment.end());
  return all;
}

JobProcess::JobProcess(const std::vector<std::string>& words, const configs::SuiteProgram& program, const JobFiles& files)
    : time_limit_(program.time_limit) {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw UserError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid_ == 0) become(words, program, files, parent);
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (descriptor_ >= 0) return;
  const int error = errno;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status_, 0);
  throw UserError(fmt::format("cannot watch a process: {}", std::strerror(error)));
}

JobProcess::~JobProcess() { close(descriptor_); }

double JobProcess::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

bool JobProcess::has_ended() {
  if (waitpid(pid_, &status_, WNOHANG) == pid_) {
    if (is_told_to_end_) kill(-pid_, SIGKILL);  // who of its session did not end with it
    return true;
  }
  if (time_limit_ != 0 && !is_told_to_end_ && seconds() > time_limit_) {
    took_too_long_ = true;
    end();
  }
  if (is_told_to_end_ && Clock::now() - told_to_end_ > kTimeToEnd) kill(-pid_, SIGKILL);
  return false;
}

void JobProcess::end() {
  if (is_told_to_end_) return;
  kill(-pid_, SIGTERM);
  kill(-pid_, SIGCONT);
  is_told_to_end_ = true;
  told_to_end_ = Clock::now();
}

}  // namespace simrun::cli
