#include "instr/host/exec_stop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/user_error.h"
#include "instr/host/file_descriptor.h"
#include "instr/host/inherited_state.h"

namespace simrun::host {
namespace {

// What the child reports through the pipe when it does not get as far as the exec stop.
struct ChildReport {
  enum Step : int { kRandomisation, kExec } step;
  int error;
};

struct Pipe {
  FileDescriptor read, write;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
  }
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> p;
  for (const std::string& s : strings) p.push_back(const_cast<char*>(s.c_str()));
  p.push_back(nullptr);
  return p;
}

// `_` is what a shell sets to the program that it runs. A shell that ran us named us; the program expects to find itself.
std::vector<std::string> environment_for(const Program& program) {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string own(self, n > 0 ? static_cast<size_t>(n) : 0);
  std::vector<std::string> result;
  for (char** e = environ; *e; ++e) {
    const std::string_view entry = *e;
    const bool names_us = entry.starts_with("_=") && !own.empty() && entry.substr(2) == own;
    result.push_back(names_us ? "_=" + program.path : std::string(entry));
  }
  return result;
}

// Runs in the child: async-signal-safe calls only.
[[noreturn]] void run_child(int go, int report, const char* path, char** argv, char** envp, bool aslr) {
  char token;
  if (read(go, &token, 1) != 1) _exit(1);  // the parent could not seize us
  if (!aslr) {
    const int now = personality(0xffffffff);
    if (now == -1 || personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) {
      const ChildReport r{ChildReport::kRandomisation, errno};
      if (write(report, &r, sizeof r) < 0) _exit(1);
    }
  }
  restore_inherited_state();
  execve(path, argv, envp);
  const ChildReport r{ChildReport::kExec, errno};
  if (write(report, &r, sizeof r) < 0) _exit(1);
  _exit(1);
}

// First integer of a small file of the kernel, or `fallback`.
long read_number(const char* path, long fallback) {
  std::FILE* f = std::fopen(path, "re");
  if (!f) return fallback;
  long value = fallback;
  if (std::fscanf(f, "%ld", &value) != 1) value = fallback;
  std::fclose(f);
  return value;
}

[[noreturn]] void throw_seize_error(int error) {
  const long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", 0);
  std::string advice =
      "a sandbox forbids it (seccomp or a security module), or simrun is itself being traced; in Docker or Podman start the container "
      "with --cap-add=SYS_PTRACE (and --security-opt seccomp=unconfined on old versions)";
  if (scope == 2) advice = "kernel.yama.ptrace_scope is 2: run simrun as root, or `sudo sysctl kernel.yama.ptrace_scope=1`";
  if (scope >= 3) advice = "kernel.yama.ptrace_scope is 3, which lasts until the next boot: set it to 1 in /etc/sysctl.d and reboot";
  throw UserError(fmt::format("cannot prepare the program: ptrace is not allowed ({}); {}", std::strerror(error), advice));
}

[[noreturn]] void throw_exec_error(const Program& program, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  throw UserError(fmt::format("{}: cannot be executed: {}", program.path, std::strerror(error)), missing ? 127 : 126);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, __WALL) < 0)
    if (errno != EINTR) throw UserError(fmt::format("waiting for process {}: {}", pid, std::strerror(errno)));
  return status;
}

// Lets the seized child run up to its exec. Signals that arrive before it go on to it, as to any program that is starting.
void run_to_exec(const Program& program, ChildGuard& child, Pipe& report, bool& randomisation_refused) {
  report.write.close_now();
  int status;
  for (;;) {
    status = wait_for(child.pid());
    if (!WIFSTOPPED(status) || status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) break;
    const int signal = status >> 16 ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_CONT, child.pid(), nullptr, signal);
  }
  const bool stopped = WIFSTOPPED(status);
  if (!stopped) child.release();
  // Every other holder of the write end is gone (close-on-exec), so this reads to the end.
  for (ChildReport r; read(report.read.get(), &r, sizeof r) == sizeof r;) {
    if (r.step == ChildReport::kExec) throw_exec_error(program, r.error);
    randomisation_refused = true;
  }
  if (stopped) return;
  // Past the point of no return the kernel kills what it cannot load (fs/binfmt_elf.c).
  throw UserError(fmt::format("{}: the kernel could not load it (ended with {} {} before its first instruction)", program.path,
                              WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)),
                  126);
}

}  // namespace

ChildGuard::~ChildGuard() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) continue;
}

ExecStop start_stopped(const Program& program, bool aslr) {
  // An ignored SIGCHLD would make the kernel throw the exit status away. The program gets the inherited disposition back.
  struct sigaction action;
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);

  Pipe go, report;
  std::vector<std::string> environment = environment_for(program);
  std::vector<char*> argv = pointers(program.arguments), envp = pointers(environment);
  std::fflush(nullptr);
  hand_over_state();
  const pid_t pid = fork();
  if (pid < 0) throw UserError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid == 0) {
    go.write.close_now();
    run_child(go.read.get(), report.write.get(), program.path.c_str(), argv.data(), envp.data(), aslr);
  }
  ChildGuard child(pid);
  constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
  if (ptrace(PTRACE_SEIZE, pid, nullptr, kOptions) != 0) throw_seize_error(errno);
  if (write(go.write.get(), "g", 1) != 1) throw UserError("cannot start the program: it was killed");
  ExecStop stop{pid, false};
  run_to_exec(program, child, report, stop.randomisation_refused);
  child.release();
  return stop;
}

}  // namespace simrun::host
