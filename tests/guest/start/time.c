// The vDSO and the clocks: monotonic, agreeing with each other, and with the system call.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "tests/guest/guest.h"

static int64_t nanoseconds(struct timespec t) { return t.tv_sec * 1000000000ll + t.tv_nsec; }

int main(void) {
  int64_t last = 0;
  for (int i = 0; i < 2000; ++i) {
    struct timespec by_vdso, by_call;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &by_vdso) == 0 && syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &by_call) == 0);
    CHECK(nanoseconds(by_vdso) >= last && nanoseconds(by_call) >= nanoseconds(by_vdso));
    last = nanoseconds(by_call);
  }
  struct timeval day;
  struct timespec real;
  CHECK(gettimeofday(&day, NULL) == 0 && clock_gettime(CLOCK_REALTIME, &real) == 0);
  CHECK(labs(time(NULL) - day.tv_sec) <= 2 && labs(real.tv_sec - day.tv_sec) <= 2);
  CHECK(clock() >= 0);
  return finish();
}
