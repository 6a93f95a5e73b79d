// Signals while the program uses a GS base of its own.
#include <asm/prctl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "tests/guest/guest.h"

static volatile int seen;
static void handler(int number) { (void)number; ++seen; }
static unsigned long area[8] = {42};

int main(void) {
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
  signal(SIGALRM, handler);
  const struct itimerval often = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, NULL);
  while (seen < 300)
    for (int k = 0; k < 2000; ++k) {
      unsigned long v;
      asm volatile("mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0;"
                   "mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0; mov %%gs:0, %0;" : "=r"(v));
      CHECK_EQUAL(v, 42);
    }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  return finish();
}
