// The alignment-check flag is the application's: a fault or a signal while it is set must not hit the engine.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static sigjmp_buf env;
static void handler(int n) {
  __asm__ volatile("pushf; andl $~0x40000,(%%rsp); popf" ::: "memory", "cc");
  siglongjmp(env, n);
}
int main(void) {
  signal(SIGSEGV, handler);
  if (sigsetjmp(env, 1) == 0) {
    __asm__ volatile("pushf; orl $0x40000,(%%rsp); popf; movl $0, 0" ::: "memory", "cc");
    puts("not reached");
    return 1;
  }
  puts("EXIT-SUCCESS");
  return 0;
}
