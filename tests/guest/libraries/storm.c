// Preloaded into every dynamically linked guest in the mode `storm`: two interval timers whose handler uses vector
// registers and the stack, so that signals arrive all the time, anywhere. Only in the program that STORM names: not in
// simrun, and not in what the guest executes.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile double value = 1;

static void handler(int number) {
  double local[32];
  for (int i = 0; i < 32; ++i) local[i] = value * i + number;
  for (int i = 0; i < 32; ++i) value = value * 0.5 + local[i];
}

__attribute__((constructor)) static void start(void) {
  const struct itimerval every = {{0, 700}, {0, 700}};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  const char* wanted = getenv("STORM");
  if (!wanted || strcmp(wanted, program_invocation_short_name) != 0) return;
  unsetenv("LD_PRELOAD");
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
  setitimer(ITIMER_PROF, &every, NULL);
}
