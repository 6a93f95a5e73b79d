// Handlers that spoil what rt_sigreturn reads: vector state that no processor accepts, or that is only half marked as such; a frame that is not
// there. What is refused is a SIGSEGV where the handler would have returned to, with what had been restored by then.
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum {
  kIntact, kNoState, kReservedHeader, kUnknownComponent, kReservedMxcsr, kBadPointer,
  kNoFirstMark, kNoSecondMark, kLegacyOnly, kLegacyOnlyReservedMxcsr, kSecondMarkNowhere, kNullSegment, kCases
};
enum { kMxcsr = 24, kMarks = 464, kHeader = 512, kShortest = 576 };   // in the frame's vector state

static volatile int now;
static sigjmp_buf back;
static volatile int refused;
static void* volatile expected_pc;
static char alternate[1 << 16];
static uint8_t* page_end;   // nothing is mapped there

static void spoil(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  mcontext_t* m = &((ucontext_t*)context)->uc_mcontext;
  uint8_t* state = (uint8_t*)m->fpregs;
  uint32_t size;
  memcpy(&size, state + kMarks + 16, 4);
  expected_pc = (void*)m->gregs[REG_RIP];
  switch (now) {
    case kNoState: m->fpregs = NULL; break;
    case kReservedHeader: state[kHeader + 16] = 0xff; break;
    case kUnknownComponent: state[kHeader + 7] |= 0x40; break;
    case kReservedMxcsr: state[kMxcsr + 3] = 0x80; break;
    case kBadPointer: m->fpregs = (void*)0x10000; break;
    case kNoFirstMark: state[kMarks] ^= 1; break;
    case kNoSecondMark: state[size] ^= 1; break;
    case kSecondMarkNowhere:
      m->fpregs = memcpy(page_end - kShortest, state, kShortest);
      size = kShortest;
      memcpy((uint8_t*)m->fpregs + kMarks + 16, &size, 4);
      break;
    case kNullSegment:
      ((ucontext_t*)context)->uc_flags = 4;   // UC_STRICT_RESTORE_SS, and not that there is one
      m->gregs[REG_CSGSFS] &= 0xffffffffffff;
      break;
    case kLegacyOnlyReservedMxcsr: state[kMxcsr + 3] = 0x80; /* fallthrough */
    case kLegacyOnly: memset(state + kMarks + 8, 0, 8), state[kMarks + 8] = 3; break;
    default: break;
  }
}

static void on_refusal(int number, siginfo_t* info, void* context) {
  const mcontext_t* m = &((ucontext_t*)context)->uc_mcontext;
  CHECK(number == SIGSEGV && info->si_code == SI_KERNEL && info->si_addr == NULL);
  if (expected_pc != NULL) CHECK(m->gregs[REG_RIP] == (greg_t)expected_pc && m->gregs[REG_RBX] == 0x5eed);
  CHECK_EQUAL(m->gregs[REG_RAX], 0);
  refused = 1;
  siglongjmp(back, 1);
}

struct Vector {
  uint64_t words[4];
};

// A signal between loading ymm7 and looking at it again; without AVX its upper half stays as it is here.
static struct Vector signalled(int avx) {
  struct Vector v = {{1, 2, 3, 4}};
  const long pid = getpid();
  if (avx)
    __asm__ volatile("vmovdqu (%[v]), %%ymm7\n\tmov $0x5eed, %%ebx\n\tsyscall\n\tvmovdqu %%ymm7, (%[v])"
                     : : [v] "r"(&v), "a"(SYS_kill), "D"(pid), "S"((long)SIGUSR1) : "rbx", "rcx", "r11", "xmm7", "memory");
  else
    __asm__ volatile("movdqu (%[v]), %%xmm7\n\tmov $0x5eed, %%ebx\n\tsyscall\n\tmovdqu %%xmm7, (%[v])"
                     : : [v] "r"(&v), "a"(SYS_kill), "D"(pid), "S"((long)SIGUSR1) : "rbx", "rcx", "r11", "xmm7", "memory");
  return v;
}

static void check_case(int avx) {
  refused = 0;
  if (sigsetjmp(back, 1) == 0) {
    const struct Vector v = signalled(avx);
    const uint64_t low = now == kNoState ? 0 : 1, high = !avx || now == kIntact ? 3 : 0;
    CHECK_EQUAL(v.words[0], low);
    CHECK_EQUAL(v.words[2], high);
  }
  uint32_t mxcsr;
  __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
  CHECK_EQUAL(mxcsr & ~0x3fu, 0x1f80);
  const int expected = now == kReservedHeader || now == kUnknownComponent || now == kReservedMxcsr || now == kBadPointer ||
                       now == kLegacyOnlyReservedMxcsr || now == kSecondMarkNowhere || now == kNullSegment;
  CHECK_EQUAL(refused, expected);
}

// Nothing else may come while the stack pointer leads nowhere: that signal would be the one without room for its frame.
static void return_from_nowhere(void) {
  sigset_t set;
  sigfillset(&set);
  sigdelset(&set, SIGSEGV);
  sigprocmask(SIG_BLOCK, &set, NULL);
  __asm__ volatile("mov $0x10000, %%esp\n\tsyscall\n\tud2" : : "a"(SYS_rt_sigreturn));
}

// What an overwritten stack holds, whichever segments that names: none is there.
static char garbage[16384] __attribute__((aligned(64)));

static void return_from_garbage(int byte) {
  memset(garbage, byte, sizeof garbage);
  signal(SIGSEGV, SIG_DFL);
  __asm__ volatile("lea 4096(%1), %%rsp\n\tsyscall\n\tud2" : : "a"(SYS_rt_sigreturn), "r"(garbage) : "memory");
}

int main(void) {
  const int avx = __builtin_cpu_supports("avx") != 0;
  uint8_t* pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(munmap(pages + 4096, 4096) == 0);
  page_end = pages + 4096;
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = spoil;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  action.sa_sigaction = on_refusal;
  action.sa_flags |= SA_ONSTACK;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaltstack(&stack, NULL) == 0);
  for (int round = 0; round < 3; ++round)
    for (now = kIntact; now < kCases; ++now) check_case(avx);
  expected_pc = NULL;
  refused = 0;
  if (sigsetjmp(back, 1) == 0) return_from_nowhere();
  CHECK(refused);
  for (int byte = 0; byte < 256; byte += 3) {
    const pid_t child = fork();
    if (child == 0) return_from_garbage(byte);
    int status;
    while (waitpid(child, &status, 0) < 0) continue;
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  }
  const pid_t child = fork();   // SIGSEGV is blocked: the end
  if (child == 0) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return_from_nowhere();
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  return finish();
}
