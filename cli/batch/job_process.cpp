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
#include <filesystem>

#include "base/user_error.h"
#include "instr/host/inherited_state.h"

namespace simrun::cli {

namespace {

constexpr std::chrono::seconds kTimeToEnd{10};
constexpr int kCouldNotStart = 126;

void open_as(const std::string& path, int flags, int descriptor) {
  const int opened = open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (opened < 0 || dup2(opened, descriptor) < 0) {
    dprintf(STDERR_FILENO, "simrun: %s: %s\n", path.c_str(), std::strerror(errno));
    _exit(kCouldNotStart);
  }
}

// Processes of the session `leader`, in whatever group.
std::vector<pid_t> members_of(pid_t leader) {
  std::vector<pid_t> members;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error))
    if (const pid_t process = std::atoi(entry->path().filename().c_str()); process > 1 && getsid(process) == leader) members.push_back(process);
  return members;
}

using Variables = std::vector<std::pair<std::string, std::string>>;

// In the child. `environment`: as execve takes it.
[[noreturn]] void become(char** argv, char** environment, const configs::SuiteProgram& program, const JobFiles& files, pid_t parent) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kCouldNotStart);
  open_as(files.errors, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  open_as(program.keeps_output ? files.output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  open_as(program.input.empty() ? "/dev/null" : program.input, O_RDONLY | O_NOCTTY, STDIN_FILENO);
  const std::string& directory = program.directory.empty() ? files.work : program.directory;
  if (chdir(directory.c_str()) != 0) {
    dprintf(STDERR_FILENO, "simrun: %s: %s\n", directory.c_str(), std::strerror(errno));
    _exit(kCouldNotStart);
  }
  host::restore_inherited_state();
  execve("/proc/self/exe", argv, environment);
  dprintf(STDERR_FILENO, "simrun: cannot start itself: %s\n", std::strerror(errno));
  _exit(kCouldNotStart);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

JobProcess::JobProcess(const std::vector<std::string>& words, const configs::SuiteProgram& program, const Variables& environment, const JobFiles& files)
    : time_limit_(program.time_limit) {
  std::vector<std::string> arguments = {"simrun"}, variables;
  arguments.insert(arguments.end(), words.begin(), words.end());
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(variables);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw UserError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid_ == 0) become(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), program, files, parent);
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
  siginfo_t ended{};
  // Its number stays its own until nothing of its session is left.
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid_) {
    kill_session();
    waitpid(pid_, &status_, 0);
    return true;
  }
  if (time_limit_ != 0 && !is_told_to_end_ && seconds() > time_limit_) {
    took_too_long_ = true;
    end();
  }
  if (is_told_to_end_ && Clock::now() - told_to_end_ > kTimeToEnd) kill_session();
  return false;
}

void JobProcess::kill_session() const {
  constexpr int kRounds = 3;  // who is forking meanwhile
  for (int round = 0; round < kRounds; ++round)
    for (const pid_t member : members_of(pid_)) kill(member, SIGKILL);
}

void JobProcess::end() {
  if (is_told_to_end_) return;
  for (const int signal : {SIGTERM, SIGCONT})
    if (kill(-pid_, signal) != 0) kill(pid_, signal);  // it has no group yet
  is_told_to_end_ = true;
  told_to_end_ = Clock::now();
}

}  // namespace simrun::cli
