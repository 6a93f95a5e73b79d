// build: -static
// A child of vfork that asks to be traced, by a call that the program has no name for.
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kTraceMe = 0, kContinue = 7 };   // PTRACE_TRACEME, PTRACE_CONT

static int wait_for(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) < 0) CHECK_EQUAL(errno, EINTR);
  return status;
}

int main(int argc, char** argv) {
  if (argc > 1) _exit(3);
  const pid_t child = vfork();
  if (child == 0) {
    if (syscall(SYS_ptrace, kTraceMe, 0, 0, 0) != 0) _exit(1);
    execl(argv[0], argv[0], "child", NULL);
    _exit(2);
  }
  CHECK(child > 0);
  const int at_exec = wait_for(child);
  CHECK(WIFSTOPPED(at_exec) && WSTOPSIG(at_exec) == SIGTRAP);
  CHECK_EQUAL(syscall(SYS_ptrace, kContinue, child, 0, 0), 0);
  const int at_end = wait_for(child);
  CHECK(WIFEXITED(at_end) && WEXITSTATUS(at_end) == 3);
  return finish();
}
