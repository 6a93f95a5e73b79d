// What a program inherits from who started it: compared with the native run by what is printed.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/guest/guest.h"

int main(void) {
  printf("timer slack %d, subreaper asked %d, dumpable %d, no new privileges %d, keep capabilities %d\n", prctl(PR_GET_TIMERSLACK),
         prctl(PR_GET_PDEATHSIG, (int[]){0}), prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_KEEPCAPS));
  CHECK(prctl(PR_SET_TIMERSLACK, 0) == 0);
  printf("by default %d\n", prctl(PR_GET_TIMERSLACK));
  int death_signal = -1, subreaper = -1;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  printf("death signal %d, subreaper %d, priority %d, scheduler %d\n", death_signal, subreaper, getpriority(PRIO_PROCESS, 0),
         sched_getscheduler(0));
  printf("umask %o\n", umask(0));
  for (int k = 0; k < RLIM_NLIMITS; ++k) {
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(k, &limit), 0);
    printf("limit %d: %lx %lx\n", k, limit.rlim_cur, limit.rlim_max);
  }
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  for (int s = 1; s <= 64; ++s) {
    struct sigaction action;
    if (s == SIGALRM || s == SIGPROF || sigaction(s, NULL, &action) != 0) continue;   // the storm's
    if (action.sa_handler != SIG_DFL || sigismember(&mask, s) == 1)
      printf("signal %d: ignored %d blocked %d\n", s, action.sa_handler == SIG_IGN, sigismember(&mask, s));
  }
  return finish();
}
