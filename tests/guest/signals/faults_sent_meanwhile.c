// Signals of faults that another process sends, whatever the program does meanwhile: each handler runs under the mask that it asked for, and
// the program's own mask stays as it is.
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"
#include "tests/guest/signal_sender.h"

static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGUSR1};
enum { kNumbers = sizeof numbers / sizeof *numbers };

static volatile int taken[65], in_child;

static void handler(int number) {
  ++taken[number];
  if (!in_child) CHECK_EQUAL(mask_now(), ~0ull & ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 3ull << 31));
}

static void install(void) {
  for (int k = 0; k < kNumbers; ++k) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    CHECK(sigaction(numbers[k], &action, NULL) == 0);
  }
}

int main(void) {
  install();
  const uint64_t before = mask_now();
  const struct SignalSender sender = start_sender(numbers, kNumbers);
  unsigned char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  for (int round = 0; round < 150; ++round) {
    const unsigned char code[] = {0xb8, (unsigned char)round, 0, 0, 0, 0xc3};   // mov eax, round; ret
    memcpy(page + round % 16 * 16, code, sizeof code);
    CHECK_EQUAL(((int (*)(void))(page + round % 16 * 16))(), round);
    ++*sender.steps;
    install();
    ++*sender.steps;
    if (round % 16 == 0) {
      const pid_t child = fork();
      if (child == 0) {
        in_child = 1;
        _exit(mask_now() == before ? 7 : 8);
      }
      int status;
      CHECK(waitpid(child, &status, 0) == child);
      CHECK_EQUAL(status, 7 << 8);
    }
    ++*sender.steps;
    CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
    ++*sender.steps;
    CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    CHECK(read(-1, page, 1) == -1 && errno == EBADF);
    CHECK_EQUAL(mask_now(), before);
  }
  for (int k = 0; k < kNumbers; ++k)
    for (; taken[numbers[k]] == 0; ++*sender.steps) sched_yield();
  end_sender(&sender);
  CHECK_EQUAL(mask_now(), before);
  return finish();
}
