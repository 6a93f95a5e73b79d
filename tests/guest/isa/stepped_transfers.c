// Far transfers and branches of 16 bits: under the trap flag, with a flag that forbids them, and at addresses that are none. AMD's processors;
// others take the branches of 16 bits as ordinary ones.
#include <setjmp.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kMostSteps = 32, kTrapFlag = 0x100, kNestedTask = 0x4000 };
static uintptr_t g_steps[kMostSteps];
static int g_step_count;
static sigjmp_buf g_back;
static int g_signal, g_code, g_trap, g_error;
static uintptr_t g_address;

static void on_step(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  if (g_step_count < kMostSteps) g_steps[g_step_count++] = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
}

static void on_fault(int number, siginfo_t* info, void* context) {
  const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  g_signal = number, g_code = info->si_code, g_address = (uintptr_t)info->si_addr;
  g_trap = (int)registers[REG_TRAPNO], g_error = (int)registers[REG_ERR];
  siglongjmp(g_back, 1);
}

// The label `name` behind what is traced is where the steps are counted from.
#define STEPPED(name, code)                                                                                                         \
  static void name(void) {                                                                                                         \
    extern const char name##_to[] __attribute__((visibility("hidden")));                                                           \
    uint64_t memory[4] = {0};                                                                                                      \
    g_step_count = 0;                                                                                                              \
    asm volatile("movq %%rsp, %%r12\n subq $256, %%rsp\n andq $-16, %%rsp\n" code "\n .globl " #name "_to\n .hidden " #name "_to\n" #name \
                 "_to: nop\n nop\n pushfq\n andq $-257, (%%rsp)\n popfq\n movq %%r12, %%rsp"                                         \
                 : : "b"(memory) : "rax", "rcx", "rdx", "r12", "cc", "memory");                                                     \
    int found = -1;                                                                                                                \
    for (int k = 0; k < g_step_count; ++k)                                                                                         \
      if (g_steps[k] == (uintptr_t)name##_to && found < 0) found = k;                                                              \
    printf(#name ": %d steps, its target at step %d\n", g_step_count, found);                                                      \
  }
#define SET_TRAP_FLAG "pushfq\n orq $256, (%%rsp)\n popfq\n"

STEPPED(far_return, "pushq $0x33\n leaq far_return_to(%%rip), %%rax\n pushq %%rax\n" SET_TRAP_FLAG "lretq")
STEPPED(interrupt_return, "movq %%rsp, %%rdx\n pushq $0x2b\n pushq %%rdx\n pushfq\n orq $256, (%%rsp)\n pushq $0x33\n leaq interrupt_return_to(%%rip), %%rax\n pushq %%rax\n"
        SET_TRAP_FLAG "iretq")
STEPPED(interrupt_return_off, "movq %%rsp, %%rdx\n pushq $0x2b\n pushq %%rdx\n pushfq\n pushq $0x33\n leaq interrupt_return_off_to(%%rip), %%rax\n pushq %%rax\n"
        SET_TRAP_FLAG "iretq")
STEPPED(interrupt_return_on, "movq %%rsp, %%rdx\n pushq $0x2b\n pushq %%rdx\n pushfq\n orq $256, (%%rsp)\n pushq $0x33\n leaq interrupt_return_on_to(%%rip), %%rax\n pushq %%rax\n iretq")
STEPPED(narrow_branch_not_taken, SET_TRAP_FLAG "cmpl %%eax, %%eax\n .byte 0x66, 0x75, 0x00")

static void report(const char* what) {
  printf("%s: signal %d, code %d, trap %d, error %#x, address %#lx\n", what, g_signal, g_code, g_trap, g_error, (unsigned long)g_address);
}

static const uint64_t kNoAddress = 0x800000000000;

#define FAULTS(what, code)                                                                             \
  if (sigsetjmp(g_back, 1) == 0) {                                                                     \
    asm volatile(code : : "b"(kNoAddress), "d"(0x2b) : "rax", "cc", "memory");                         \
    CHECK(!what);                                                                                      \
  }                                                                                                    \
  report(what)

static char g_stack[1 << 16];

int main(void) {
  const stack_t stack = {.ss_sp = g_stack, .ss_size = sizeof g_stack};
  CHECK(sigaltstack(&stack, NULL) == 0);
  struct sigaction step = {.sa_sigaction = &on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK}, fault = {.sa_sigaction = &on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  CHECK(sigaction(SIGTRAP, &step, NULL) == 0 && sigaction(SIGSEGV, &fault, NULL) == 0 && sigaction(SIGBUS, &fault, NULL) == 0);
  far_return();
  interrupt_return();
  interrupt_return_off();
  interrupt_return_on();
  narrow_branch_not_taken();
  FAULTS("far return, no stack", "movq %%rbx, %%rsp\n lretq");
  if (!is_intel() && __builtin_cpu_supports("avx512f")) {  // what is read first is as Zen 4 has it; others were not tried
    FAULTS("far return, nothing mapped", "movl $0x2000, %%esp\n lretq");
    FAULTS("far return of 32 bits, nothing mapped", "movl $0x2000, %%esp\n lret");
    FAULTS("interrupt return, nothing mapped", "movl $0x2000, %%esp\n iretq");
    FAULTS("interrupt return of 32 bits, nothing mapped", "movl $0x2000, %%esp\n iretl");
  }
  g_step_count = 0;
  if (has_fsgsbase()) {   // else it may be imitated, with another signal
    FAULTS("popf under the trap flag, no stack", SET_TRAP_FLAG "movq %%rbx, %%rsp\n popfq");
  }
  FAULTS("interrupt return, no stack", "movq %%rbx, %%rsp\n iretq");
  FAULTS("far jump, no address", "ljmp *(%%rbx)");
  FAULTS("interrupt return in a nested task",
         "movq %%rsp, %%rax\n pushq %%rdx\n pushq %%rax\n pushfq\n pushq $0x33\n leaq 1f(%%rip), %%rax\n pushq %%rax\n"
         "pushfq\n orq $0x4000, (%%rsp)\n popfq\n iretq\n 1:");
  return finish();
}
