// A tracer comes and goes: handlers that ask for an alternate stack run where there is none, and the thread's own state is what it was.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile sig_atomic_t handled;
static volatile int* ready;

static void handler(int number) {
  (void)number;
  ++handled;
}

static void be_traced(void) {
  const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);   // of use where only ancestors may trace
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  *ready = 1;
  while (handled == 0) usleep(1000);
  stack_t stack;
  CHECK(sigaltstack(NULL, &stack) == 0);
  printf("alternate stack: flags %x, %zu bytes\n", stack.ss_flags, stack.ss_size);
  fflush(stdout);
  _exit(3);
}

int main(void) {
  ready = mmap(NULL, sizeof *ready, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(ready != MAP_FAILED);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) be_traced();
  int status;
  while (!*ready) usleep(1000);
  CHECK(ptrace(PTRACE_ATTACH, child, 0, 0) == 0);
  CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
  CHECK(ptrace(PTRACE_DETACH, child, 0, 0) == 0);
  CHECK(kill(child, SIGUSR1) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  printf("status %x\n", status);
  return finish();
}
