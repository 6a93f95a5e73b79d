// 32-bit system calls from 64-bit code.
#include <errno.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static long call32(unsigned number, unsigned long b, unsigned long c, unsigned long d, unsigned long s, unsigned long i) {
  long result;
  asm volatile("int $0x80" : "=a"(result) : "a"(number), "b"(b), "c"(c), "d"(d), "S"(s), "D"(i) : "memory", "cc", "r8", "r9", "r10", "r11");
  return (int)result;
}

static void on_segv(int number) {
  (void)number;
  puts("SKIPPED: no 32-bit system calls");
  fflush(stdout);
  _exit(0);
}

static volatile int usr1;
static void on_usr1(int number) { usr1 += number; }

static sigjmp_buf back;
static void on_dropped(int number) { siglongjmp(back, number); }

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile char selector;
static siginfo_t seen;
static void on_sigsys(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  selector = 0;
  seen = *info;
}

int main(void) {
  signal(SIGSEGV, on_segv);
  const long pid = call32(20, 0, 0, 0, 0, 0);
  signal(SIGSEGV, SIG_DFL);
  CHECK_EQUAL(pid, getpid());
  CHECK_EQUAL(call32(9999, 0, 0, 0, 0, 0), -ENOSYS);
  // The upper halves of arguments do not count.
  CHECK_EQUAL(call32(6, 0xabcd00000000ul + 999, 0, 0, 0, 0), -EBADF);

  char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  CHECK(page != MAP_FAILED);
  strcpy(page, "written by a 32-bit call\n");
  fflush(stdout);
  CHECK_EQUAL(call32(4, 1, (unsigned long)page, strlen(page), 0, 0), strlen(page));

  // Code in memory that such calls map, protect, unmap and map again.
  unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3};
  for (int k = 1; k < 4; ++k) {
    const long at = call32(192, 0x20000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (unsigned long)-1);
    CHECK_EQUAL(at, 0x20000000);
    code[1] = (unsigned char)k;
    memcpy((void*)at, code, sizeof code);
    CHECK_EQUAL(call32(125, 0x20000000, 4096, PROT_READ | PROT_EXEC, 0, 0), 0);
    CHECK_EQUAL(((int (*)(void))at)(), k);
    if (k == 2) CHECK_EQUAL(call32(91, 0x20000000, 4096, 0, 0, 0), 0);
  }

  // Contents that are dropped: zeros are an instruction that faults.
  CHECK_EQUAL(call32(219, 0x20000000, 4096, MADV_DONTNEED, 0, 0), 0);
  if (sigsetjmp(back, 1) == 0) {
    signal(SIGSEGV, on_dropped);
    ((int (*)(void))0x20000000)();
    CHECK(0);
  }
  signal(SIGSEGV, SIG_DFL);
  // All that is mapped, of which an engine may have a lot; and the heap.
  CHECK_EQUAL(call32(152, MCL_CURRENT, 0, 0, 0, 0), 0);
  CHECK_EQUAL(call32(153, 0, 0, 0, 0, 0), 0);
  CHECK_EQUAL(call32(45, 0, 0, 0, 0, 0), (int)(long)sbrk(0));

  signal(SIGUSR1, on_usr1);
  CHECK_EQUAL(call32(37, (unsigned long)getpid(), SIGUSR1, 0, 0, 0), 0);
  CHECK_EQUAL(usr1, SIGUSR1);

  const long child = call32(2, 0, 0, 0, 0, 0);
  if (child == 0) call32(1, 7, 0, 0, 0, 0);
  int status;
  CHECK(waitpid((pid_t)child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);

  // Strict mode knows them by their own numbers: getpid is none of the four. User dispatch makes signals of them.
  if (fork() == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(8);
    call32(4, 1, 0, 0, 0, 0);
    call32(20, 0, 0, 0, 0, 0);
    syscall(SYS_exit, 9);
  }
  CHECK(wait(&status) > 0);
  printf("strict: %x\n", status);
  const struct sigaction dispatched = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSYS, &dispatched, NULL) == 0);
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) == 0) {
    sigset_t others, before;   // their handlers' returns would be dispatched, too
    sigfillset(&others);
    sigdelset(&others, SIGSYS);
    CHECK(sigprocmask(SIG_SETMASK, &others, &before) == 0);
    selector = 1;
    const long result = call32(20, 0, 0, 0, 0, 0);
    selector = 0;
    CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) == 0);
    printf("dispatched: result %ld, code %d, call %d, architecture %x\n", result, seen.si_code, seen.si_syscall, seen.si_arch);
  }
  finish();
  call32(252, 0, 0, 0, 0, 0);
  return 1;
}
