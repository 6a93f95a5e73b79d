// The end of a program: abort(), with a handler for SIGABRT that returns.
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
  signal(SIGABRT, report);
  abort();
  return 3;
}
