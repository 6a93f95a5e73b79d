#include "instr/host/inherited_state.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
  rlimit address_space, data;
  bool limited;

  StateAtStart() noexcept {
    for (int s = 1; s <= kSignals; ++s) syscall(SYS_rt_sigaction, s, nullptr, &actions[s], sizeof mask);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
    timer_slack = prctl(PR_GET_TIMERSLACK);
    getrlimit(RLIMIT_AS, &address_space);
    getrlimit(RLIMIT_DATA, &data);
    limited = address_space.rlim_cur != address_space.rlim_max || data.rlim_cur != data.rlim_max;
    // Such limits are meant for the program. What simrun itself needs has nothing to do with them.
    if (!limited) return;
    raise_to_hard_limit(RLIMIT_AS, address_space);
    raise_to_hard_limit(RLIMIT_DATA, data);
  }

  static void raise_to_hard_limit(__rlimit_resource resource, rlimit limit) noexcept {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
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
  if (!g_at_start.limited) return;
  setrlimit(RLIMIT_AS, &g_at_start.address_space);
  setrlimit(RLIMIT_DATA, &g_at_start.data);
}

}  // namespace simrun::host
