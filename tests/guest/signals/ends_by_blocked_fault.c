// The end of a program: a fault whose signal is blocked: the kernel resets it to the default and ends the program.
#include <signal.h>
#include <sys/resource.h>

#include "tests/guest/guest.h"

static void report(int number) {
  dprintf(2, "handler %d\n", number);
}

int main(void) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  finish();
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGILL, report);
  __builtin_trap();
  return 3;
}
