// What a handler finds in its frame: the resume flag of faults and not of traps, the page-fault error code of jumps to
// where nothing may be executed, flags that the kernel leaves alone. And what refuses a frame: a segment that no code may
// have on the way back, a handler without a way back.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kResume = 0x10000, kSelectorMask = 0xffff };

static sigjmp_buf back;
static greg_t flags, error, trap;
static int code, spoiled;

static void note(int number, siginfo_t* info, void* context) {
  const greg_t* g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number;
  flags = g[REG_EFL], error = g[REG_ERR], trap = g[REG_TRAPNO];
  code = info->si_code;
  siglongjmp(back, 1);
}

static void handle(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  CHECK_EQUAL(sigaction(number, &action, NULL), 0);
}

// Bytes of code; `ret` follows.
static void expect(const char* bytes, size_t size, int wanted_code, greg_t wanted_trap, int resume) {
  unsigned char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  memcpy(page, bytes, size);
  page[size] = 0xc3;
  if (sigsetjmp(back, 1) == 0) {
    __asm__ volatile("xorl %%ecx, %%ecx; xorl %%edx, %%edx; sub $128, %%rsp; call *%0; add $128, %%rsp"
                     : : "r"(page) : "rax", "rcx", "rdx", "memory", "cc");
    CHECK(0);
  }
  CHECK_EQUAL(code, wanted_code);
  CHECK_EQUAL(trap, wanted_trap);
  CHECK_EQUAL(flags & kResume, resume ? kResume : 0);
  munmap(page, 4096);
}

static void resume_flag(void) {
  expect("\xf4", 1, SI_KERNEL, 13, 1);                    // hlt
  expect("\xcd\x20", 2, SI_KERNEL, 13, 1);                // int $0x20
  expect("\x0f\x0b", 2, ILL_ILLOPN, 6, 1);                // ud2
  expect("\xf7\xf1", 2, FPE_INTDIV, 0, 1);                // div %ecx
  expect("\x8b\x01", 2, SEGV_MAPERR, 14, 1);              // mov (%rcx), %eax
  expect("\xcc", 1, SI_KERNEL, 3, 0);                     // int3
  expect("\xcd\x03", 2, SI_KERNEL, 3, 0);                 // int $3
  expect("\xf1", 1, TRAP_BRKPT, 1, 0);                    // int1
  expect("\xcd\x04", 2, SI_KERNEL, 4, 0);                 // int $4
  expect("\x9c\x81\x0c\x24\x00\x01\x00\x00\x9d\x90", 10, TRAP_TRACE, 1, 0);   // the trap flag
  if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
  CHECK_EQUAL(flags & kResume, 0);
}

static uint64_t own_flags(void) {
  uint64_t now;
  __asm__ volatile("pushfq; pop %0" : "=r"(now));
  return now;
}

enum { kNested = 0x4000, kIdentification = 0x200000 };
static uint64_t in_handler;

// Goes behind `movl (%rcx), %ecx`, with the flag changed in its frame.
static void skip_and_change(int number, siginfo_t* info, void* context) {
  greg_t* const g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number, (void)info;
  in_handler = own_flags();
  g[REG_EFL] ^= kIdentification;
  g[REG_RIP] += 2;
}

// Neither delivery nor return touches these: not those of the frame, not the handler's, and what it changes in its frame does not count.
static void untouched_flags(void) {
  for (volatile int k = 0; k < 2; ++k) {
    static volatile int flag;
    flag = k == 0 ? kIdentification : kNested;
    if (sigsetjmp(back, 1) == 0)
      __asm__ volatile("sub $128, %%rsp; pushfq; orl %0, (%%rsp); popfq; xorl %%ecx, %%ecx; movl (%%rcx), %%ecx" : : "r"(flag) : "rcx", "memory", "cc");
    CHECK_EQUAL(flags & flag, flag);
    CHECK_EQUAL(own_flags() & (uint64_t)flag, flag);   // the handler jumped out
    __asm__ volatile("sub $128, %%rsp; pushfq; andl %0, (%%rsp); popfq; add $128, %%rsp" : : "r"(~flag) : "memory", "cc");
    CHECK_EQUAL(own_flags() & (uint64_t)flag, 0);
  }
  handle(SIGSEGV, skip_and_change);
  uint64_t after;
  __asm__ volatile("sub $128, %%rsp; pushfq; orl %1, (%%rsp); popfq; xorl %%ecx, %%ecx; movl (%%rcx), %%ecx\n"
                   "pushfq; pop %0; pushfq; andl %2, (%%rsp); popfq; add $128, %%rsp"
                   : "=&r"(after) : "r"(kIdentification), "r"(~kIdentification) : "rcx", "memory", "cc");
  CHECK_EQUAL(in_handler & kIdentification, kIdentification);
  CHECK_EQUAL(after & kIdentification, kIdentification);
  handle(SIGSEGV, note);
}

static void jump_to(void* target, int wanted_code, greg_t wanted_error) {
  if (sigsetjmp(back, 1) == 0) {
    ((void (*)(void))target)();
    CHECK(0);
  }
  CHECK_EQUAL(code, wanted_code);
  CHECK_EQUAL(error, wanted_error);
  CHECK(flags & kResume);
}

static void error_codes(void) {
  char* const pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  pages[0] = pages[4096] = (char)0xc3;
  CHECK_EQUAL(mprotect(pages + 4096, 4096, PROT_NONE), 0);
  CHECK_EQUAL(munmap(pages + 2 * 4096, 4096), 0);
  jump_to(pages, SEGV_ACCERR, 0x15);             // there, and not executable
  jump_to(pages + 4096, SEGV_ACCERR, 0x14);      // no access at all
  jump_to(pages + 2 * 4096, SEGV_MAPERR, 0x14);  // nothing
}

static void spoil_code(int number, siginfo_t* info, void* context) {
  greg_t* g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number, (void)info;
  g[REG_CSGSFS] = (g[REG_CSGSFS] & ~(greg_t)kSelectorMask) | spoiled;
}

static void spoil_stack(int number, siginfo_t* info, void* context) {
  greg_t* g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number, (void)info;
  g[REG_CSGSFS] = (g[REG_CSGSFS] & 0xffffffffffff) | (greg_t)spoiled << 48;
}

static void refused_segment(void (*spoil)(int, siginfo_t*, void*), int selector, greg_t wanted_error) {
  handle(SIGUSR2, spoil);
  spoiled = selector;
  if (sigsetjmp(back, 1) == 0) {
    raise(SIGUSR2);
    CHECK(0);
  }
  CHECK_EQUAL(code, SI_KERNEL);
  CHECK_EQUAL(trap, 13);
  CHECK_EQUAL(error, wanted_error);
}

static void handler_without_return(void) {
  struct {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } action = {note, SA_SIGINFO, NULL, 0};
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    CHECK_EQUAL(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8), 0);
    if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
    _exit(1);
  }
  int status;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(void) {
  skip_if_imitated();
  const int numbers[] = {SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGUSR1};
  for (int k = 0; k < 5; ++k) handle(numbers[k], note);
  resume_flag();
  untouched_flags();
  error_codes();
  refused_segment(spoil_code, 0, 0);
  refused_segment(spoil_code, 0x13, 0x10);
  refused_segment(spoil_code, 0x2b, 0x28);
  refused_segment(spoil_stack, 0x33, 0x30);
  refused_segment(spoil_stack, 0, 0);
  handler_without_return();
  return finish();
}
