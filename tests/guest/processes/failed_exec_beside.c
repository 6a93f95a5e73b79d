// A child that shares the memory while its parent goes on, of a program that names `ptrace`, tries to execute what cannot be, several times, with
// signals in between; then it ends, or executes a program after all.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

extern char** environ;

static volatile sig_atomic_t handled;
static void handler(int number) { handled += number == SIGUSR1; }

static int fails(void* succeeds) {
  char* const arguments[] = {"/bin/true", NULL};
  for (int k = 0; k < 3; ++k) {
    if (execv("/etc/passwd", arguments) != -1 || errno != EACCES) _exit(2);
    raise(SIGUSR1);
    if (execv("/dev/null/none", arguments) != -1 || errno != ENOTDIR) _exit(3);
  }
  if (succeeds != NULL) execv(arguments[0], arguments);
  _exit(handled >= 3 ? 7 : 4);
}

int main(void) {
  if (getppid() == -1) ptrace(PTRACE_TRACEME, 0, NULL, NULL);
  signal(SIGUSR1, handler);
  char* const stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED);
  for (int k = 0; k < 6; ++k) {
    const pid_t child = clone(fails, stack + 65536, CLONE_VM | SIGCHLD, k % 2 == 0 ? NULL : stack);
    CHECK(child > 0);
    int status;
    pid_t ended;
    do ended = waitpid(child, &status, 0);
    while (ended == -1 && errno == EINTR);
    CHECK_EQUAL(ended, child);
    CHECK_EQUAL(status, k % 2 == 0 ? 7 << 8 : 0);
  }
  return finish();
}
