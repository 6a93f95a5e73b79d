// SIGALRM, SIGVTALRM and SIGPROF by interval timers while the program computes: every register, the flags, and the
// vector registers must be as before after each handler, whose own code uses them.
#include <signal.h>
#include <sys/time.h>

#include "tests/guest/guest.h"

static volatile int calls;
static volatile double disturbed = 1.5;

static void handler(int signal) {
  (void)signal;
  disturbed = disturbed * 1.0001 + calls;
  for (int i = 0; i < 50; ++i) disturbed /= 1.01;
  ++calls;
}

static uint64_t compute(uint64_t rounds) {
  uint64_t result;
  asm volatile(
      "mov $1, %%eax; mov $2, %%ebx; mov $3, %%edx; mov $4, %%esi; mov $5, %%edi; mov $6, %%r8d; mov $7, %%r9d; mov "
      "$8, %%r10d;"
      "mov $9, %%r11d; mov $10, %%r12d; mov $11, %%r13d; mov $12, %%r14d; mov $13, %%r15d; movq %%rax, %%xmm0; movq "
      "%%rbx, %%xmm1; clc;"
      "1: adc %%rax, %%rbx; adc %%rbx, %%rdx; adc %%rdx, %%rsi; adc %%rsi, %%rdi; adc %%rdi, %%r8; mov %%r8, -8(%%rsp);"
      "adc %%r9, -8(%%rsp); adc %%r10, %%r11; adc -8(%%rsp), %%r12; adc %%r12, %%r13; adc %%r13, %%r14; adc %%r14, "
      "%%r15;"
      "adc %%r15, %%rax; adc %%rax, %%r9; adc %%r11, %%r10; movq %%rax, %%xmm2; paddq %%xmm2, %%xmm0; paddq %%xmm0, "
      "%%xmm1; loop 1b;"
      "movq %%xmm1, %%rcx; adc %%rcx, %%rax; xor %%r15, %%rax; mov %%rax, %[result]"
      : [result] "=m"(result), "+c"(rounds)
      :
      : "rax", "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
        "cc", "memory");
  return result;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGVTALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  const uint64_t expected = compute(5000);
  const struct itimerval every = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  const int timers[3] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  for (int t = 0; t < 3; ++t) {
    calls = 0;
    CHECK(setitimer(timers[t], &every, NULL) == 0);
    while (calls < 3) CHECK_EQUAL(compute(5000), expected);
    CHECK(setitimer(timers[t], &never, NULL) == 0);
  }
  return finish();
}
