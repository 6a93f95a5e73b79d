// int3: the handler sees the address behind it, and the program goes on there. In superblocks of different shapes: alone, behind
// stores, with every register in use before and after, directly behind a branch.
#include <signal.h>
#include <ucontext.h>

#include "../guest.h"

static volatile int traps;
static volatile uint64_t behind;

static void on_trap(int number, siginfo_t* info, void* context) {
  (void)number;
  const ucontext_t* u = context;
  behind = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
  CHECK_EQUAL(info->si_code, SI_KERNEL);
  CHECK_EQUAL(((unsigned char*)behind)[-1], 0xcc);
  if (++traps > 1000) _exit(3);   // it would go on for ever
}

static uint64_t every_register(uint64_t x) {
  uint64_t r;
  asm volatile(
      "push %%rbx\n push %%rbp\n"
      "mov $1, %%ebx\n mov $2, %%ecx\n mov $3, %%edx\n mov $4, %%esi\n mov $6, %%ebp\n mov $7, %%r8d\n mov $8, %%r9d\n"
      "mov $9, %%r10d\n mov $10, %%r11d\n mov $11, %%r12d\n mov $12, %%r13d\n mov $13, %%r14d\n mov $14, %%r15d\n"
      "int3\n"
      "add %%rbx, %%rax\n add %%rcx, %%rax\n add %%rdx, %%rax\n add %%rsi, %%rax\n add %%rbp, %%rax\n add %%r8, %%rax\n"
      "add %%r9, %%rax\n add %%r10, %%rax\n add %%r11, %%rax\n add %%r12, %%rax\n add %%r13, %%rax\n add %%r14, %%rax\n"
      "add %%r15, %%rax\n"
      "pop %%rbp\n pop %%rbx\n"
      : "=a"(r)
      : "0"(x)
      : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
  return r;
}

static uint64_t behind_stores(uint64_t* a, uint64_t* b) {
  uint64_t r;
  asm volatile("movq $5, (%1)\n movq $6, 8(%2)\n int3\n mov (%1), %0\n add 8(%2), %0\n" : "=&r"(r) : "r"(a), "r"(b) : "memory", "cc");
  return r;
}

static int behind_branch(int x) {
  asm volatile("test %0, %0\n jz 1f\n int3\n 1: int3\n" : : "r"(x) : "cc");
  return traps;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  CHECK_EQUAL(sigaction(SIGTRAP, &action, NULL), 0);
  asm volatile("int3");
  asm volatile("int3; int3");
  CHECK_EQUAL(traps, 3);
  CHECK_EQUAL(every_register(100), 100 + 1 + 2 + 3 + 4 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14);
  CHECK_EQUAL(traps, 4);
  uint64_t a[2], b[2];
  CHECK_EQUAL(behind_stores(a, b), 11);
  CHECK_EQUAL(behind_branch(0), 6);
  CHECK_EQUAL(behind_branch(1), 8);
  for (int k = 0; k < 50; ++k) CHECK_EQUAL(every_register(1), 101);
  CHECK_EQUAL(traps, 58);
  return finish();
}
