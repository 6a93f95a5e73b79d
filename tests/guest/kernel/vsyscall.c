// The legacy vsyscall page at its fixed address.
#include <setjmp.h>
#include <signal.h>
#include <sched.h>
#include <sys/time.h>
#include <time.h>

#include "tests/guest/guest.h"

static sigjmp_buf back;
static siginfo_t last;
static void on_segv(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  last = *info;
  siglongjmp(back, 1);
}

static int has_page(void) {
  char line[300];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) found |= strstr(line, "[vsyscall]") != NULL;
  fclose(maps);
  return found;
}

int main(void) {
  skip_unless(has_page(), "vsyscall page");
  int (*get_time_of_day)(struct timeval*, void*) = (void*)0xffffffffff600000;
  time_t (*get_time)(time_t*) = (void*)0xffffffffff600400;
  long (*get_cpu)(unsigned*, unsigned*, void*) = (void*)0xffffffffff600800;
  struct timeval t;
  const time_t before = time(NULL);
  CHECK_EQUAL(get_time_of_day(&t, NULL), 0);
  struct timespec after;
  CHECK_EQUAL(clock_gettime(CLOCK_REALTIME, &after), 0);
  CHECK(before <= t.tv_sec && t.tv_sec <= after.tv_sec);
  const time_t now = time(NULL);   // the clock of the last tick, which lags behind that of gettimeofday()
  time_t stored = 0;
  CHECK(get_time(&stored) == stored && stored - now <= 1 && stored >= now);
  CHECK(get_time(NULL) >= stored);
  unsigned cpu = ~0u, node = ~0u;
  CHECK_EQUAL(get_cpu(&cpu, &node, NULL), 0);
  CHECK(cpu < 4096 && node < 4096);
  struct sigaction action = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  if (sigsetjmp(back, 1) == 0) {
    get_time((time_t*)8);
    CHECK(0);
  }
  CHECK_EQUAL(last.si_code, SI_KERNEL);
  if (sigsetjmp(back, 1) == 0) {
    last.si_code = 0;
    ((void (*)(void))0xffffffffff600010)();   // no function of it
    CHECK(0);
  }
  CHECK_EQUAL(last.si_code, SI_KERNEL);
  for (int k = 0; k < 1000; ++k) CHECK(get_time(NULL) >= now);
  return finish();
}
