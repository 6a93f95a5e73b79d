// Signals of faults that were sent while they were blocked, and come together: each handler runs, and the mask stays the program's.
#include <signal.h>
#include <sys/types.h>

#include "tests/guest/guest.h"

static const int numbers[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGUSR1, SIGSYS};
enum { kNumbers = sizeof numbers / sizeof *numbers };

static volatile int order[kNumbers], taken;
static volatile uint64_t masks[kNumbers];

static void caught(int number) {
  masks[taken] = mask_now();
  order[taken++] = number;
}

int main(void) {
  for (int k = 0; k < kNumbers; ++k) {
    struct sigaction action = {.sa_handler = caught};
    sigaddset(&action.sa_mask, SIGURG);
    CHECK(sigaction(numbers[k], &action, NULL) == 0);
  }
  const uint64_t before = mask_now();
  // All of them; then each two.
  for (int which = 0; which < 1 << kNumbers; ++which) {
    const int count = __builtin_popcount(which);
    if (count != 2 && count != kNumbers) continue;
    sigset_t all, old;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, &old) == 0);
    taken = 0;
    for (int k = 0; k < kNumbers; ++k)
      if (which >> k & 1) CHECK(kill(getpid(), numbers[k]) == 0);
    CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
    CHECK_EQUAL(taken, count);
    CHECK_EQUAL(mask_now(), before);
    for (int k = 0; k < taken; ++k) printf("%d under %llx%s", order[k], (unsigned long long)masks[k], k + 1 < taken ? ", " : "\n");
  }
  return finish();
}
