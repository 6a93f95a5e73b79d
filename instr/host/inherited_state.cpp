#include "instr/host/inherited_state.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iterator>

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

// struct sched_attr (include/uapi/linux/sched/types.h), whose header and the C library's do not go together.
struct Scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};
constexpr uint64_t kResetOnFork = 1;   // SCHED_FLAG_RESET_ON_FORK

struct StateAtStart {
  KernelAction actions[kSignals + 1];
  uint64_t mask;
  int timer_slack;
  bool reaps_orphans;   // as the first process of a namespace, or as a subreaper
  Scheduling scheduling{};
  // Soft limits are meant for the program. What simrun itself needs has nothing to do with them.
  struct Limit {
    __rlimit_resource resource;
    rlimit value;
  } limits[4] = {{RLIMIT_AS, {}}, {RLIMIT_DATA, {}}, {RLIMIT_NOFILE, {}}, {RLIMIT_CPU, {}}};

  StateAtStart() noexcept {
    for (int s = 1; s <= kSignals; ++s) syscall(SYS_rt_sigaction, s, nullptr, &actions[s], sizeof mask);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
    timer_slack = prctl(PR_GET_TIMERSLACK);
    int subreaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    reaps_orphans = subreaper != 0 || getpid() == 1;
    syscall(SYS_sched_getattr, 0, &scheduling, sizeof scheduling, 0);
    for (Limit& l : limits) {
      getrlimit(l.resource, &l.value);
      const rlimit hard{l.value.rlim_max, l.value.rlim_max};
      if (l.value.rlim_cur != l.value.rlim_max) setrlimit(l.resource, &hard);
    }
  }
};

const StateAtStart g_at_start;

// What outlives an exec but not a fork.
struct HandedOver {
  static constexpr int kMostSignals = 128;
  static constexpr __itimer_which kTimers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  itimerval timers[std::size(kTimers)];
  timespec since;  // of the timer of real time
  siginfo_t signals[kMostSignals];
  int signal_count;
  bool done;
};

HandedOver g_handed_over;

// The timer of real time has gone on meanwhile.
void start_timers(const HandedOver& from) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t gone = (now.tv_sec - from.since.tv_sec) * 1'000'000 + (now.tv_nsec - from.since.tv_nsec) / 1000;
  for (size_t k = 0; k < std::size(from.kTimers); ++k) {
    itimerval timer = from.timers[k];
    int64_t left = timer.it_value.tv_sec * 1'000'000 + timer.it_value.tv_usec;
    if (left == 0) continue;
    if (from.kTimers[k] == ITIMER_REAL) left = std::max<int64_t>(left - gone, 1);
    timer.it_value = {left / 1'000'000, left % 1'000'000};
    setitimer(from.kTimers[k], &timer, nullptr);
  }
}

}  // namespace

void hand_over_state() {
  HandedOver& to = g_handed_over;
  const bool first = !to.done;
  to = {};
  to.done = true;
  if (!first) return;
  clock_gettime(CLOCK_MONOTONIC, &to.since);
  const itimerval none{};
  for (size_t k = 0; k < std::size(to.kTimers); ++k) setitimer(to.kTimers[k], &none, &to.timers[k]);
  const timespec at_once{};
  while (to.signal_count < HandedOver::kMostSignals &&
         syscall(SYS_rt_sigtimedwait, &g_at_start.mask, &to.signals[to.signal_count], &at_once, sizeof g_at_start.mask) > 0)
    ++to.signal_count;
}

bool was_blocked_at_start(int signal) { return (g_at_start.mask >> (signal - 1) & 1) != 0; }

void restore_inherited_state() {
  for (int s = 1; s <= kSignals; ++s) {
    if (s == SIGKILL || s == SIGSTOP) continue;
    syscall(SYS_rt_sigaction, s, &g_at_start.actions[s], nullptr, sizeof g_at_start.mask);
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &g_at_start.mask, nullptr, sizeof g_at_start.mask);
  for (int k = 0; k < g_handed_over.signal_count; ++k) {
    siginfo_t& info = g_handed_over.signals[k];
    syscall(SYS_rt_sigqueueinfo, getpid(), info.si_signo, &info);
  }
  start_timers(g_handed_over);
  if (g_at_start.reaps_orphans) prctl(PR_SET_CHILD_SUBREAPER, 1UL);
  Scheduling scheduling = g_at_start.scheduling;
  if ((scheduling.flags & kResetOnFork) != 0) syscall(SYS_sched_setattr, 0, &scheduling, 0);   // the fork has reset it
  if (g_at_start.timer_slack > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(g_at_start.timer_slack));
  for (const StateAtStart::Limit& l : g_at_start.limits)
    if (l.value.rlim_cur != l.value.rlim_max) setrlimit(l.resource, &l.value);
}

}  // namespace simrun::host
