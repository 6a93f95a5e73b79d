// A fault at an operand relative to the program's GS base, and an indirect call through GS.
#include <asm/prctl.h>
#include <signal.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static sigjmp_buf back;
static void handler(int number) { (void)number; siglongjmp(back, 1); }
static int forty_two(void) { return 42; }
static void* area[8];

int main(void) {
  area[2] = (void*)forty_two;
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
  int result;
  asm volatile("call *%%gs:16" : "=a"(result) : : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
  CHECK_EQUAL(result, 42);
  signal(SIGSEGV, handler);
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 0) == 0);
  if (sigsetjmp(back, 1) == 0) {
    unsigned long v;
    asm volatile("mov %%gs:0, %0" : "=r"(v));
    CHECK(!"no fault");
  }
  return finish();
}
