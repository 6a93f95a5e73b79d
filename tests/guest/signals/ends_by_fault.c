// The end of a program: a fault without a handler: the program ends by that signal.
#include <signal.h>
#include <sys/resource.h>

#include "tests/guest/guest.h"

int main(void) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  finish();
  volatile uintptr_t nowhere = 8;
  *(volatile int*)nowhere = 1;
  return 3;
}
