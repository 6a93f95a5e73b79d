// Children whose end is a signal that faults have too: it comes wherever the parent is, with the codes of SIGCHLD.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile int taken, wrong;
static volatile pid_t child;

static void handler(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  if (info->si_code != CLD_EXITED || info->si_status != 5) ++wrong;
  ++taken;
}

int main(void) {
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGUSR1};
  unsigned char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  for (int round = 0; round < 60; ++round) {
    const int number = numbers[round % 6];
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(number, &action, NULL) == 0);
    taken = wrong = 0;
    child = (pid_t)syscall(SYS_clone, number, 0, 0, 0, 0);
    if (child == 0) _exit(5);
    CHECK(child > 0);
    // New code again and again, so that the signal finds the parent at different places.
    for (int k = 0; taken == 0; ++k) {
      const unsigned char code[] = {0xb8, (unsigned char)k, 0, 0, 0, 0xc3};   // mov eax, k; ret
      memcpy(page + k % 64 * 16, code, sizeof code);
      CHECK_EQUAL(((int (*)(void))(page + k % 64 * 16))(), k & 255);
      if (round % 2) getppid();
    }
    CHECK_EQUAL(wrong, 0);
    int status;
    pid_t ended;
    do ended = waitpid(child, &status, __WALL);
    while (ended == -1 && errno == EINTR);
    CHECK(ended == child && status == 5 << 8);
    CHECK_EQUAL(taken, 1);
  }
  return finish();
}
