#include "instr/host/target.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/user_error.h"

namespace simrun::host {

FileDescriptor open_process(pid_t pid) {
  FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process && errno != ESRCH) throw UserError(fmt::format("no descriptor for it can be opened ({})", std::strerror(errno)));
  return process;
}

Target::Target(pid_t pid, LocalMapping mapping, Relation relation, FileDescriptor process)
    : pid_(pid), mapping_(std::move(mapping)), relation_(relation), pidfd_(std::move(process)) {}

// A child of its may be on its way to a home of its own still, and ask in this header, where nobody looks any more
// (instr/engine/threads/follow.cpp: nobody_answers).
static void refuse_requests(border::ProcessHeader& h) {
  for (border::FollowRequest& r : h.requests) {
    auto posted = static_cast<uint32_t>(border::FollowState::kPosted);
    if (r.state.compare_exchange_strong(posted, static_cast<uint32_t>(border::FollowState::kRefused)))
      syscall(SYS_futex, reinterpret_cast<uint32_t*>(&r.state), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

Target::~Target() {
  if (mapping_.address() != nullptr) {
    uint32_t runs = 1;
    if (!is_abandoned_) header().engine_state.compare_exchange_strong(runs, 2);
    refuse_requests(header());
  }
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
  pid_t who = 0;
  while ((who = waitpid(pid_, &status_, 0)) < 0 && errno == EINTR) continue;
  if (who < 0) status_ = SIGKILL;   // somebody else has waited for it: at least no success
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
