// The mask after nested and interrupted handlers is what it was before them.
#include <signal.h>
#include <sys/time.h>

#include "tests/guest/guest.h"

static volatile int seen;
static void handler(int number) {
  ++seen;
  if (number == SIGALRM && seen % 3 == 0) raise(SIGUSR1);
  for (volatile int k = 0; k < 300; ++k) {}
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGVTALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  const struct itimerval often = {{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &often, NULL);
  setitimer(ITIMER_VIRTUAL, &often, NULL);
  setitimer(ITIMER_PROF, &often, NULL);
  while (seen < 400) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int s = 1; s < 65; ++s) CHECK(sigismember(&mask, s) != 1);
  }
  return finish();
}
