// A program steps itself by the trap flag: a SIGTRAP behind each instruction, with the address of the next one, whatever the
// instruction is: jumps, calls, returns, pushf and popf, system calls, faults; and a handler that sets the flag in its frame.
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

#define TRAP_FLAG 0x100ul
#define RESUME_FLAG 0x10000

static volatile int steps, faults;
static uint64_t seen[600];
static volatile int stop_at = 1 << 30;

static void on_trap(int number, siginfo_t* info, void* context) {
  ucontext_t* u = context;
  CHECK_EQUAL(number, SIGTRAP);
  CHECK_EQUAL(info->si_code, TRAP_TRACE);
  CHECK_EQUAL((uintptr_t)info->si_addr, u->uc_mcontext.gregs[REG_RIP]);
  CHECK_EQUAL(u->uc_mcontext.gregs[REG_TRAPNO], 1);
  CHECK_EQUAL(u->uc_mcontext.gregs[REG_EFL] & RESUME_FLAG, 0);
  if (steps < 600) seen[steps] = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
  if (++steps >= stop_at) u->uc_mcontext.gregs[REG_EFL] &= ~(long long)TRAP_FLAG;
}

static void on_segv(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  ucontext_t* u = context;
  CHECK((u->uc_mcontext.gregs[REG_EFL] & (long long)TRAP_FLAG) != 0);
  ++faults;
  u->uc_mcontext.gregs[REG_RAX] = (long long)(uintptr_t)&seen[0];
}

// Each returns the number of steps; the flag is set by a popf and taken back by another.
#define STEPPED(body)                                                                                               \
  do {                                                                                                              \
    asm volatile("sub $256, %%rsp; pushfq; orq $0x100, (%%rsp); popfq\n" body                                       \
                 "\npushfq; andq $~0x100, (%%rsp); popfq; add $256, %%rsp"                                          \
                 :                                                                                                  \
                 :                                                                                                  \
                 : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0");            \
  } while (0)

static void straight(void) {
  steps = 0;
  STEPPED("nop; nop; nop");
  CHECK_EQUAL(steps, 6);
  CHECK_EQUAL(seen[1] - seen[0], 1);
  CHECK_EQUAL(seen[2] - seen[1], 1);
}

static void resume_flag(void) {
  steps = 0;
  STEPPED("pushfq; orq $0x10100, (%%rsp); popfq; nop");
  CHECK_EQUAL(steps, 4 + 3);
}

static void transfers(void) {
  steps = 0;
  STEPPED("mov $3, %%ecx; 1: dec %%ecx; jnz 1b; call 2f; jmp 3f; 2: lea 4f(%%rip), %%rax; jmp *%%rax; nop; 4: ret; 3: nop");
  // mov, 3 * (dec, jnz), call, lea, jmp, ret, jmp, nop; pushfq, andq, popfq
  CHECK_EQUAL(steps, 1 + 6 + 6 + 3);
}

static void flags_on_stack(void) {
  steps = 0;
  uint64_t pushed;
  asm volatile("sub $256, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; pushfq; pop %0; pushfq; popfq; stc; pushfq; andq $~0x100, (%%rsp)\n"
               "popfq; add $256, %%rsp" : "=r"(pushed) : : "memory", "cc");
  CHECK_EQUAL(steps, 8);
  CHECK_EQUAL(pushed & TRAP_FLAG, TRAP_FLAG);
}

// REX.W counts for more than the prefix 66, right before the opcode; elsewhere it does not count.
static void widths_of_popf(void) {
  uint64_t before, after;
  asm volatile("mov %%rsp, %0; sub $256, %%rsp; pushfq; orq $0x100, (%%rsp); .byte 0x66, 0x48, 0x9d; nop\n"
               "pushfq; andq $~0x100, (%%rsp); .byte 0x66, 0x48, 0x9d; add $256, %%rsp; mov %%rsp, %1"
               : "=&r"(before), "=&r"(after) : : "memory", "cc");
  CHECK_EQUAL(before, after);
  asm volatile("mov %%rsp, %0; sub $256, %%rsp; pushfw; orw $0x100, (%%rsp); .byte 0x48, 0x66, 0x9d; nop\n"
               "pushfw; andw $~0x100, (%%rsp); .byte 0x48, 0x66, 0x9d; add $256, %%rsp; mov %%rsp, %1"
               : "=&r"(before), "=&r"(after) : : "memory", "cc");
  CHECK_EQUAL(before, after);
}

static void system_calls(void) {
  steps = 0;
  STEPPED("mov $39, %%eax; syscall; mov %%rax, %%rdx; nop");
  CHECK_EQUAL(steps, seen[1] - seen[0] == 5 ? 6 : 7);   // a trap behind a system call depends on the way back from the kernel
}

static void fault_inside(void) {
  steps = faults = 0;
  STEPPED("xor %%eax, %%eax; mov (%%rax), %%rcx; nop");
  CHECK_EQUAL(faults, 1);
  CHECK_EQUAL(steps, 6);
}

static void through_library(void) {
  char text[100];
  steps = 0;
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
  const int n = snprintf(text, sizeof text, "%d %s %f", 42, "stepped", 1.5);
  asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
  CHECK_EQUAL(n, 19);
  CHECK(strcmp(text, "42 stepped 1.500000") == 0);
  CHECK(steps > 500);
}

static void on_usr1(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] |= (long long)TRAP_FLAG;
}

static void from_frame(void) {
  struct sigaction action = {.sa_sigaction = on_usr1, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  steps = 0;
  stop_at = 10;
  raise(SIGUSR1);
  volatile int sum = 0;
  for (int k = 0; k < 100; ++k) sum += k;
  CHECK_EQUAL(steps, 10);
  CHECK_EQUAL(sum, 4950);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  action.sa_sigaction = on_segv;
  sigaction(SIGSEGV, &action, NULL);
  resume_flag();
  straight();
  transfers();
  flags_on_stack();
  widths_of_popf();
  system_calls();
  fault_inside();
  through_library();
  from_frame();
  return finish();
}
