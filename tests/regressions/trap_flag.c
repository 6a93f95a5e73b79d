// Single-stepping oneself: a trap after each instruction, at the program's own addresses.
#include <signal.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static volatile int steps;
static void handler(int number, siginfo_t* info, void* context) {
  (void)number, (void)info, (void)context;
  ++steps;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  asm volatile(
      "sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq\n"
      "nop; nop; nop\n"
      "pushfq; andq $~0x100, (%%rsp); popfq; add $128, %%rsp" : : : "memory", "cc");
  CHECK_EQUAL(steps, 6);
  return finish();
}
