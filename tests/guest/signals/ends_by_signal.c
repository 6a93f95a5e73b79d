// The end of a program: kill of oneself with a signal whose default is to end.
#include <signal.h>
#include <sys/resource.h>

#include "tests/guest/guest.h"

int main(void) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  finish();
  kill(getpid(), SIGTERM);
  return 3;
}
