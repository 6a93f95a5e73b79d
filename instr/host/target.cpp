#include "instr/host/target.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace simrun::host {

Target::Target(pid_t pid, LocalMapping mapping, Relation relation)
    : pid_(pid),
      mapping_(std::move(mapping)),
      relation_(relation),
      pidfd_(relation == Relation::kStranger ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1) {}

Target::~Target() {
  if (relation_ != Relation::kChild || !running()) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool Target::running() {
  if (ended_) return false;
  const bool runs = relation_ == Relation::kChild ? child_runs() : stranger_runs();
  if (!runs) ended_ = true;
  return runs;
}

bool Target::child_runs() {
  // Look first and reap second: forward_signal must not see a process id that is free already. A stop of a child that we trace is reported
  // whether asked for or not (kernel/exit.c, wait_task_stopped); it is the family's affair.
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (result == 0 && (info.si_pid == 0 || info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)) return true;
  if (result != 0 && errno == EINTR) return true;
  ended_ = true;
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
  return false;
}

// A process descriptor becomes readable when its process has ended, reaped or not.
bool Target::stranger_runs() const {
  if (!pidfd_) return false;   // it was gone before we looked
  pollfd p{pidfd_.get(), POLLIN, 0};
  return poll(&p, 1, 0) <= 0;
}

void Target::forward_signal(int signal) {
  if (!ended_) kill(pid_, signal);
}

}  // namespace simrun::host
