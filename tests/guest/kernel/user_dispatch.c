// Syscall user dispatch: calls from outside a range become SIGSYS while a selector byte says so.
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile char selector;
static volatile int caught;
static siginfo_t last;

static void on_sigsys(int number, siginfo_t* info, void* context) {
  selector = 0;
  (void)number;
  ucontext_t* u = context;
  last = *info;
  ++caught;
  u->uc_mcontext.gregs[REG_RAX] = u->uc_mcontext.gregs[REG_RAX] == info->si_syscall ? 1000 + info->si_syscall : -1;
}

extern char call_from_here[], call_end[];
asm(".text\ncall_from_here: mov $39, %eax\nsyscall\nret\ncall_end:\n");

int main(void) {
  struct sigaction action = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, call_from_here, call_end - call_from_here, &selector) != 0) {
    puts("SKIPPED: no syscall user dispatch");
    return 0;
  }
  CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 1, 0, 0) == -1 && errno == EINVAL);
  CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 7, 0, 0, 0) == -1 && errno == EINVAL);
  CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, -4096l, 8192, 0) == -1 && errno == EINVAL);
  CHECK_EQUAL(syscall(SYS_getpid), getpid());
  selector = 1;
  CHECK_EQUAL(syscall(SYS_getppid), 1000 + SYS_getppid);
  CHECK_EQUAL(caught, 1);
  CHECK_EQUAL(last.si_code, 2);
  CHECK_EQUAL(last.si_syscall, SYS_getppid);
  CHECK_EQUAL(last.si_arch, AUDIT_ARCH_X86_64);
  CHECK_EQUAL(last.si_errno, 0);
  selector = 1;
  const long inside = ((long (*)(void))call_from_here)();
  selector = 0;
  CHECK_EQUAL(inside, getpid());
  CHECK_EQUAL(caught, 1);
  // A child begins without.
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    selector = 1;
    _exit(getppid() == parent ? 7 : 8);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) == 0);
  selector = 1;
  CHECK(getppid() > 0);
  // From Linux 6.17 on: only calls from inside the range.
  selector = 0;
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 2, call_from_here, call_end - call_from_here, &selector) == 0) {
    selector = 1;
    CHECK(getppid() > 0);
    CHECK_EQUAL(caught, 1);
    CHECK_EQUAL(((long (*)(void))call_from_here)(), 1000 + SYS_getpid);
    CHECK_EQUAL(caught, 2);
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) == 0);
  }
  return finish();
}
