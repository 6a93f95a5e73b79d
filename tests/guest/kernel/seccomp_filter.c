// build: -pthread
// A seccomp filter that denies nearly everything: system calls of the program get what the filter says, by whatever thread; nothing
// else changes, whatever happens meanwhile (new code, signals, new memory, threads).
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ON(number, verdict) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, verdict)
#define FAIL(error) (SECCOMP_RET_ERRNO | (error))

static volatile int traps;
static siginfo_t last;
static void on_sigsys(int number, siginfo_t* info, void* context) {
  (void)number;
  ucontext_t* u = context;
  last = *info;
  ++traps;
  CHECK_EQUAL(u->uc_mcontext.gregs[REG_RAX], info->si_syscall);
  CHECK_EQUAL(u->uc_mcontext.gregs[REG_RIP], (uintptr_t)info->si_call_addr);
  u->uc_mcontext.gregs[REG_RAX] = 4711;
}

static int install(struct sock_filter* filter, size_t count, unsigned flags) {
  struct sock_fprog program = {(unsigned short)count, filter};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}
#define INSTALL(filter, flags) install(filter, sizeof filter / sizeof filter[0], flags)

static volatile int usr1;
static void on_usr1(int number) { usr1 += number; }

static void* other_thread(void* argument) {
  errno = 0;
  CHECK(syscall(SYS_getppid) == -1 && errno == 77);
  CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
  return argument;
}

static void errors(void) {
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xffffffc0, 8) == -1 && errno == EINVAL);
  struct sock_filter good[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_filter bad[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  CHECK(install(good, 0, 0) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 8) == -1 && errno == EFAULT);
  CHECK(INSTALL(good, 1u << 30) == -1 && errno == EINVAL);
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(INSTALL(bad, 0) == -1 && errno == EINVAL);
  CHECK_EQUAL(prctl(PR_GET_SECCOMP), 0);
}

static void handlers(void) {
  struct sigaction action = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  struct sigaction other = {.sa_handler = on_usr1};
  CHECK(sigaction(SIGUSR1, &other, NULL) == 0);
}

int main(void) {
  errors();
  handlers();
  struct sock_filter first[] = {LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL), LOAD(nr), ON(SYS_getppid, FAIL(77)),
                                ON(SYS_getuid, SECCOMP_RET_TRAP | 5), ON(SYS_rt_sigaction, FAIL(78)), ON(SYS_fork, FAIL(79)),
                                ON(SYS_vfork, FAIL(79)), ON(SYS_arch_prctl, SECCOMP_RET_TRAP), ON(SYS_getrlimit, FAIL(80)),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  if (INSTALL(first, 0) != 0) {
    puts("SKIPPED: no seccomp");
    return 0;
  }
  CHECK_EQUAL(prctl(PR_GET_SECCOMP), 2);
  errno = 0;
  CHECK(syscall(SYS_getppid) == -1 && errno == 77);
  CHECK_EQUAL(syscall(SYS_getuid), 4711);
  CHECK_EQUAL(traps, 1);
  CHECK_EQUAL(last.si_signo, SIGSYS);
  CHECK_EQUAL(last.si_code, 1);
  CHECK_EQUAL(last.si_errno, 5);
  CHECK_EQUAL(last.si_syscall, SYS_getuid);
  CHECK_EQUAL(last.si_arch, AUDIT_ARCH_X86_64);
  unsigned long base = 1;
  CHECK_EQUAL(syscall(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, &base), 4711);
  CHECK_EQUAL(base, 1);
  CHECK_EQUAL(traps, 2);
  CHECK(signal(SIGUSR2, SIG_IGN) == SIG_ERR && errno == 78);
  CHECK(syscall(SYS_fork) == -1 && errno == 79);
  CHECK(syscall(SYS_getrlimit, 0, &base) == -1 && errno == 80);

  // Deny what the engine needs for itself; threads and signals go on.
  struct sock_filter second[] = {LOAD(nr), ON(SYS_mmap, FAIL(90)), ON(SYS_futex, FAIL(91)), ON(SYS_process_vm_readv, FAIL(92)),
                                 ON(SYS_process_vm_writev, FAIL(92)), ON(SYS_gettid, FAIL(93)), ON(SYS_madvise, FAIL(94)),
                                 ON(SYS_sigaltstack, SECCOMP_RET_TRAP), ON(SYS_openat, FAIL(95)),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  pthread_t thread;
  void* result;
  CHECK(pthread_create(&thread, NULL, other_thread, (void*)&usr1) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &usr1);
  CHECK_EQUAL(usr1, SIGUSR1);
  CHECK_EQUAL(INSTALL(second, SECCOMP_FILTER_FLAG_TSYNC), 0);
  CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == 90);
  CHECK(syscall(SYS_futex, &usr1, 0, 0, NULL) == -1 && errno == 91);
  CHECK(open("/proc/self/maps", O_RDONLY) == -1 && errno == 95);
  CHECK_EQUAL(syscall(SYS_sigaltstack, NULL, NULL), 4711);
  CHECK_EQUAL(traps, 3);
  CHECK(syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1) == 0);
  CHECK_EQUAL(usr1, 2 * SIGUSR1);
  double sum = 0;
  char text[64];
  for (int k = 0; k < 200; ++k) sum += snprintf(text, sizeof text, "%a %d", sum, k);
  CHECK(sum > 0);

  // A child has them too, and is killed by a third.
  struct sock_filter third[] = {LOAD(nr), ON(SYS_getgid, SECCOMP_RET_KILL_PROCESS), ON(SYS_exit_group, FAIL(1)),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  CHECK(child >= 0);
  if (child == 0) {
    errno = 0;
    CHECK(syscall(SYS_getppid) == -1 && errno == 77);
    CHECK(INSTALL(third, 0) == 0);
    CHECK(syscall(SYS_exit_group, 3) == -1 && errno == 1);
    syscall(SYS_getgid);
    return 0;
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
  return finish();
}
