// build: -pthread
// Filters that use the accumulator before they load it, which is 0; SECCOMP_FILTER_FLAG_TSYNC is for the threads of one process, not for others that
// share its memory; strict mode knows calls through the vsyscall page. What simrun cannot install is refused as the kernel would.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static long install(unsigned flags, struct sock_filter* code, unsigned short length) {
  struct sock_fprog program = {length, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void begins_with_zero(void) {
  struct sock_filter code[] = {BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO), BPF_STMT(BPF_MISC | BPF_TAX, 0),
                               BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 3),
                               BPF_STMT(BPF_MISC | BPF_TXA, 0), BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 33), BPF_STMT(BPF_RET | BPF_A, 0),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  CHECK(install(0, code, sizeof code / sizeof *code) == 0);
  CHECK(syscall(SYS_getppid) == -1 && errno == 33);
}

static volatile int go, handled;
static char stack[65536] __attribute__((aligned(64)));

static void handler(int number) {
  (void)number;
  ++handled;
}

static int other_process(void* unused) {
  (void)unused;
  while (!go) sched_yield();
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 7 << 8 && handled == 1 ? 5 : 6;
}

static void of_one_process(void) {
  const pid_t other = clone(other_process, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  CHECK(install(SECCOMP_FILTER_FLAG_TSYNC, code, sizeof code / sizeof *code) == 0);
  CHECK(signal(SIGUSR2, handler) == SIG_ERR);
  go = 1;
  int status;
  CHECK(waitpid(other, &status, 0) == other);
  CHECK_EQUAL(status, 5 << 8);
}

static void refused(void) {
  struct sock_filter asks[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)};
  static struct sock_filter unfinished[BPF_MAXINSNS];
  for (int k = 0; k < BPF_MAXINSNS; ++k) unfinished[k] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 0);
  struct sock_fprog program = {2, asks};
  CHECK_EQUAL(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0x8000, &program), -1);
  CHECK_EQUAL(errno, EINVAL);
  if (geteuid() == 0) CHECK_EQUAL(setresuid(65534, 65534, 65534), 0);
  CHECK_EQUAL(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), -1);
  CHECK_EQUAL(errno, EACCES);
  CHECK_EQUAL(install(0, unfinished, BPF_MAXINSNS), -1);
  CHECK_EQUAL(errno, EINVAL);
}

static void strictly(void) {
  long (*const time_of_old)(long*) = (long (*)(long*))0xffffffffff600400;
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  time_of_old(NULL);
  syscall(SYS_exit, 3);
}

static void in_child(void (*part)(void), const char* name) {
  const pid_t child = fork();
  if (child == 0) {
    part();
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  printf("%s: status %x\n", name, status);
  fflush(stdout);
}

int main(void) {
  in_child(begins_with_zero, "begins with zero");
  in_child(of_one_process, "of one process");
  in_child(refused, "refused");
  in_child(strictly, "strictly");   // a SIGSEGV where there is no such page
  return finish();
}
