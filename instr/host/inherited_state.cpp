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
  // Soft limits are meant for the program. What simrun itself needs has nothing to do with them.
  struct Limit {
    __rlimit_resource resource;
    rlimit value;
  } limits[4] = {{RLIMIT_AS, {}}, {RLIMIT_DATA, {}}, {RLIMIT_NOFILE, {}}, {RLIMIT_CPU, {}}};

  StateAtStart() noexcept {
    for (int s = 1; s <= kSignals; ++s) syscall(SYS_rt_sigaction, s, nullptr, &actions[s], sizeof mask);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
    timer_slack = prctl(PR_GET_TIMERSLACK);
    for (Limit& l : limits) {
      getrlimit(l.resource, &l.value);
      const rlimit hard{l.value.rlim_max, l.value.rlim_max};
      if (l.value.rlim_cur != l.value.rlim_max) setrlimit(l.resource, &hard);
    }
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
  for (const StateAtStart::Limit& l : g_at_start.limits)
    if (l.value.rlim_cur != l.value.rlim_max) setrlimit(l.resource, &l.value);
}

}  // namespace simrun::host
