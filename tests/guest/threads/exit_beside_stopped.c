// The process ends while another that shares its memory is stopped amid its code: nobody waits for that one.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile int started;
static char stack[65536];

static int spins(void* x) {
  (void)x;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  started = 1;
  for (;;) __builtin_ia32_pause();
  return 0;
}

int main(void) {
  const pid_t child = clone(spins, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
  CHECK(child > 0);
  while (!started) sched_yield();
  CHECK(kill(child, SIGSTOP) == 0);
  int status;
  CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
  finish();
  exit(42);
}
