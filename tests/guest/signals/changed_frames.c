// Handlers change their frames so that going back is refused, or brings another vector state: each change in a process of its own.
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kSwMagic1 = 464, kSwExtendedSize = 468, kSwFeatures = 472, kSwSize = 480 };   // struct _fpx_sw_bytes
enum Change { kNothing, kUnalignedState, kShortExtendedSize, kNoFeatures, kNoMark, kNoCode, kKernelCode, kNoStack, kCodeAsStack, kEndOfMemory, kChanges };

static enum Change change;
static sigjmp_buf escape;
static char copy[16384] __attribute__((aligned(64)));

static void alter(int signal, siginfo_t* info, void* context) {
  mcontext_t* const m = &((ucontext_t*)context)->uc_mcontext;
  uint16_t* const segments = (uint16_t*)&m->gregs[REG_CSGSFS];
  char* const state = (char*)m->fpregs;
  (void)signal, (void)info;
  switch (change) {
    case kUnalignedState:
      memcpy(copy + 16, state, *(unsigned*)(state + kSwSize) + 4);
      m->fpregs = (fpregset_t)(copy + 16);
      break;
    case kShortExtendedSize: *(unsigned*)(state + kSwExtendedSize) = 0; break;
    case kNoFeatures: *(uint64_t*)(state + kSwFeatures) = 0; break;
    case kNoMark: *(unsigned*)(state + kSwMagic1) = 0; break;
    case kNoCode: segments[0] = 0; break;
    case kKernelCode: segments[0] = 0x10; break;
    case kNoStack: segments[3] = 0; break;
    case kCodeAsStack: segments[3] = 0x33; break;
    case kEndOfMemory: m->gregs[REG_RIP] = 0x7ffffffff000; break;
    default: break;
  }
}

static void tell(int signal, siginfo_t* info, void* context) {
  const greg_t* const g = ((ucontext_t*)context)->uc_mcontext.gregs;
  printf("%d: signal %d, code %d, address %p, trap %lld, error %llx, resume flag %d\n", change, signal, info->si_code, info->si_addr,
         (long long)g[REG_TRAPNO], (long long)g[REG_ERR], (int)(g[REG_EFL] >> 16 & 1));
  siglongjmp(escape, 1);
}

static void try_change(void) {
  static char stack[65536];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  const struct sigaction altering = {.sa_sigaction = alter, .sa_flags = SA_SIGINFO};
  const struct sigaction telling = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  CHECK(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &altering, NULL) == 0);
  CHECK(sigaction(SIGSEGV, &telling, NULL) == 0 && sigaction(SIGBUS, &telling, NULL) == 0);
  if (sigsetjmp(escape, 1) != 0) return;
  const uint64_t wanted[2] = {0x1122334455667788, 0x99aabbccddeeff00};
  uint64_t found[2] = {0, 0};
  const unsigned rounding = 0x3f80;
  unsigned control = 0;
  // kill(getpid(), SIGUSR1) with something in xmm9 and MXCSR.
  asm volatile(
      "movdqu %2, %%xmm9; ldmxcsr %3; mov %4, %%edi; mov $10, %%esi; mov $62, %%eax; syscall; movdqu %%xmm9, %0; stmxcsr %1"
      : "=m"(found), "=m"(control) : "m"(wanted), "m"(rounding), "r"(getpid()) : "rax", "rcx", "r11", "rdi", "rsi", "memory", "xmm9");
  printf("%d: goes on, xmm9 %lx %lx, mxcsr %x\n", change, found[0], found[1], control);
}

int main(void) {
  skip_if_imitated();
  for (change = kNothing; change < kChanges; ++change) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      try_change();
      fflush(stdout);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) printf("%d: status %x\n", change, status);
  }
  return finish();
}
