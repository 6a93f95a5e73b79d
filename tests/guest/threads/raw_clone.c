// clone without the C library's threads: shared memory, own stack, CLONE_CHILD_CLEARTID as join, CLONE_PARENT_SETTID,
// no TLS of its own.
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int cleared, parent_tid, value;

static int child(void* argument) {
  value += *(int*)argument;
  syscall(SYS_exit, 0);
  return 0;
}

static int process(void* argument) {
  value = *(int*)argument;
  return 9;
}

int main(void) {
  for (int i = 1; i <= 50; ++i) {
    cleared = 1;
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    const int tid = clone(child, stack + sizeof stack, flags, &i, &parent_tid, NULL, &cleared);
    CHECK(tid > 0);
    while (cleared) syscall(SYS_futex, &cleared, FUTEX_WAIT, 1, NULL, NULL, 0);
    CHECK_EQUAL(parent_tid, tid);
  }
  CHECK_EQUAL(value, 50 * 51 / 2);
  int argument = 5, status;
  const int shared = clone(process, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &argument);
  CHECK(shared > 0 && waitpid(shared, &status, 0) == shared && WIFEXITED(status) && WEXITSTATUS(status) == 9);
  CHECK_EQUAL(value, 5);
  argument = 6;
  const int separate = clone(process, stack + sizeof stack, SIGCHLD, &argument);
  CHECK(separate > 0 && waitpid(separate, &status, 0) == separate && WEXITSTATUS(status) == 9);
  CHECK_EQUAL(value, 5);
  return finish();
}
