#include "instr/host/inherited_state.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace simrun::host {
namespace {

constexpr int kSignals = 64;

// The kernel's own view: the C library hides two of the real-time signals.
struct KernelAction {
  void* handler;
  uint64_t flags;
  void* restorer;
  uint64_t mask;
};

struct StateAtStart {
  KernelAction actions[kSignals + 1];
  uint64_t mask;
  int timer_slack;

  StateAtStart() noexcept {
    for (int s = 1; s <= kSignals; ++s) syscall(SYS_rt_sigaction, s, nullptr, &actions[s], sizeof mask);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
    timer_slack = prctl(PR_GET_TIMERSLACK);
  }
};

const StateAtStart g_at_start;

}  // namespace

void restore_inherited_state() {
  for (int s = 1; s <= kSignals; ++s) {
    if (s == SIGKILL || s == SIGSTOP) continue;
    syscall(SYS_rt_sigaction, s, &g_at_start.actions[s], nullptr, sizeof g_at_start.mask);
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &g_at_start.mask, nullptr, sizeof g_at_start.mask);
  if (g_at_start.timer_slack > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(g_at_start.timer_slack));
}

}  // namespace simrun::host
