// The kernel takes the low half of rax for the number of a call, and of arguments that are ints.
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static const uint64_t kHigh = 0x7654321000000000;

static long call(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
  register uint64_t r10 __asm__("r10") = d;
  register uint64_t r8 __asm__("r8") = e;
  register uint64_t r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

static volatile int handled;
static void handler(int number) { handled = number; }

int main(void) {
  // Code in memory that such a call maps, changes and unmaps.
  char* const page = (char*)call(kHigh | SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0);
  CHECK((long)page > 0);
  for (int k = 1; k < 10; ++k) {
    const unsigned char code[] = {0xb8, (unsigned char)k, 0, 0, 0, 0xc3};   // mov eax, k; ret
    memcpy(page, code, sizeof code);
    CHECK(call(kHigh | SYS_mprotect, (uint64_t)page, 4096, PROT_READ | PROT_EXEC, 0, 0, 0) == 0);
    CHECK_EQUAL(((int (*)(void))page)(), k);
    CHECK(call(kHigh | SYS_mprotect, (uint64_t)page, 4096, PROT_READ | PROT_WRITE, 0, 0, 0) == 0);
  }
  CHECK(call(kHigh | SYS_munmap, (uint64_t)page, 4096, 0, 0, 0, 0) == 0);
  // A handler, by a wide number of call and signal.
  struct {
    void (*handler)(int);
    uint64_t flags;
    void* restorer;
    uint64_t mask;
  } action, old;
  CHECK(signal(SIGUSR1, handler) != SIG_ERR);
  CHECK(call(kHigh | SYS_rt_sigaction, kHigh | SIGUSR1, 0, (uint64_t)&action, 8, 0, 0) == 0);
  CHECK(action.handler == handler);
  CHECK(call(kHigh | SYS_rt_sigaction, kHigh | SIGUSR2, (uint64_t)&action, 0, 8, 0, 0) == 0);
  CHECK(call(SYS_rt_sigaction, SIGUSR2, 0, (uint64_t)&old, 8, 0, 0) == 0 && old.handler == handler);
  CHECK(call(kHigh | SYS_kill, (uint64_t)getpid(), SIGUSR2, 0, 0, 0, 0) == 0 && handled == SIGUSR2);
  // A child and its end.
  const long child = call(kHigh | SYS_fork, 0, 0, 0, 0, 0, 0);
  if (child == 0) call(kHigh | SYS_exit_group, 5, 0, 0, 0, 0, 0);
  int status;
  CHECK(waitpid((pid_t)child, &status, 0) == child && status == 5 << 8);
  // Segment bases by a wide operation; numbers of no call.
  uint64_t base = 0;
  CHECK(call(SYS_arch_prctl, kHigh | 0x1003 /* ARCH_GET_FS */, (uint64_t)&base, 0, 0, 0, 0) == 0 && base != 0);
  CHECK_EQUAL(call(~0ull, 0, 0, 0, 0, 0, 0), -38);
  CHECK_EQUAL(call(kHigh | 0xffffffff, 0, 0, 0, 0, 0, 0), -38);
  CHECK_EQUAL(call(kHigh | 100000, 0, 0, 0, 0, 0, 0), -38);
  return finish();
}
