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

// To the thread and to the process: each has a queue of its own.
static volatile int codes[2 * kNumbers], received;

static void counted(int number, siginfo_t* info, void* context) {
  (void)context;
  codes[received++] = number * 100 + (info->si_code == SI_USER ? 1 : info->si_code == SI_TKILL ? 2 : 0);
}

static void to_both(void) {
  for (int k = 0; k < kNumbers; ++k) {
    struct sigaction action = {.sa_sigaction = counted, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(numbers[k], &action, NULL) == 0);
  }
  for (int which = 1; which < 1 << kNumbers; ++which) {
    if (__builtin_popcount(which) > 3) continue;
    sigset_t all, old;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, &old) == 0);
    received = 0;
    for (int k = 0; k < kNumbers; ++k)
      if (which >> k & 1) CHECK(kill(getpid(), numbers[k]) == 0 && raise(numbers[k]) == 0);
    CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
    int of_each[kNumbers][3] = {{0}};
    for (int n = 0; n < received; ++n)
      for (int k = 0; k < kNumbers; ++k)
        if (codes[n] / 100 == numbers[k]) ++of_each[k][codes[n] % 100];
    for (int k = 0; k < kNumbers; ++k) {
      CHECK_EQUAL(of_each[k][0], 0);
      CHECK_EQUAL(of_each[k][1], which >> k & 1);
      CHECK_EQUAL(of_each[k][2], which >> k & 1);
    }
  }
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
  to_both();
  return finish();
}
