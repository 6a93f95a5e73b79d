// cpuid that the program has had refused is a SIGSEGV where it stands, until it is allowed again; whatever the registers held stays. Skipped where
// the processor cannot refuse it.
#include <asm/prctl.h>
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static sigjmp_buf back;
static greg_t registers[NGREG];

static void handler(int number, siginfo_t* info, void* context) {
  (void)info;
  memcpy(registers, ((ucontext_t*)context)->uc_mcontext.gregs, sizeof registers);
  siglongjmp(back, number);
}

int main(void) {
  if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) != 0) {
    printf("SKIPPED: cpuid cannot be refused\n");
    return 0;
  }
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, NULL);
  const int number = sigsetjmp(back, 1);
  if (number == 0) {
    __asm__ volatile("xor %%ecx, %%ecx\n mov $7, %%eax\n cpuid" : : : "rax", "rbx", "rcx", "rdx");
    CHECK(!"refused");
  }
  CHECK_EQUAL(number, SIGSEGV);
  CHECK_EQUAL(registers[REG_RAX], 7);
  CHECK_EQUAL(registers[REG_RCX], 0);
  const unsigned char* at = (const unsigned char*)registers[REG_RIP];
  CHECK(at[0] == 0x0f && at[1] == 0xa2);
  CHECK_EQUAL(syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1), 0);
  unsigned a, b, c, d;
  __cpuid_count(7, 0, a, b, c, d);
  printf("%x %x %x\n", b, c, d);
  return finish();
}
