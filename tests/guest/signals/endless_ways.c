// build: -pthread
// Every kind of way that a program can go round for ever, left by a signal's handler only; and by a thread while another one changes code.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "tests/guest/guest.h"

#define WAY(name, code) \
  __asm__(".text\n.type way_" #name ", @function\nway_" #name ":\n" code "\n.size way_" #name ", . - way_" #name "\n"); \
  void way_##name(void);

WAY(jump, "1: jmp 1b")
WAY(branch, "stc\n1: jc 1b")
WAY(branches, "xor %eax, %eax\n1: jz 2f\nud2\n2: jz 3f\nud2\n3: jz 1b\nud2")
WAY(counted, "1: mov $2, %ecx\nloop 1b")
WAY(indirect_jump, "lea 1f(%rip), %rax\n1: jmp *%rax")
WAY(indirect_jumps, "lea 1f(%rip), %r8\nlea 2f(%rip), %r9\n1: jmp *%r9\nud2\n2: jmp *%r8")
WAY(jump_by_memory, "lea 1f(%rip), %rax\npush %rax\n1: jmp *(%rsp)")
WAY(returns, "lea 1f(%rip), %rax\n1: push %rax\nret")
WAY(call_and_add, "push %rax\n1: add $8, %rsp\ncall 1b")
WAY(call_and_pop, "push %rax\n1: pop %rax\ncall 1b")
WAY(call_and_lea, "push %rax\n1: lea 8(%rsp), %rsp\ncall 1b")
WAY(call_and_move, "push %rbp\nmov %rsp, %rbp\n1: mov %rbp, %rsp\ncall 1b")
WAY(call_and_leave, "push %rax\n1: mov %rsp, %rbp\nleave\ncall 1b")
WAY(call_and_jump, "push %rax\n1: add $8, %rsp\njmp 2f\nud2\n2: call 1b")
WAY(call_and_branch, "push %rax\n1: pop %rdx\ncmp %eax, %eax\nje 2f\nret\n2: call 1b")
WAY(call_and_exchange, "push %rax\nlea -64(%rsp), %rcx\n1: xchg %rcx, %rsp\nmov %rsp, %rcx\ncall 1b")
WAY(indirect_call, "push %rax\nlea 1f(%rip), %rax\n1: add $8, %rsp\ncall *%rax")
WAY(calls, "1: call 2f\njmp 1b\n2: ret")
WAY(deep_calls, "1: call 2f\njmp 1b\n2: call 3f\ncall 3f\nret\n3: ret")

// Not endless: until there is no stack left, which takes a tenth of a second.
WAY(recursion, "1: pause\npause\npause\npause\ncall 1b\nret")
WAY(recursions, "1: pause\npause\ncall 2f\nret\n2: pause\npause\ntest %rsp, %rsp\njz 3f\ncall 1b\n3: ret")

typedef void (*Way)(void);

static _Thread_local sigjmp_buf back;

static void on_signal(int number) {
  (void)number;
  siglongjmp(back, 1);
}

// A way whose jumps all lead to one place of a table that goes by the address's bits 2 to 17, or 2 to 14.
static Way aligned_jump(uintptr_t address) {
  static const uint8_t kCode[] = {0x48, 0x8d, 0x05, 0xf9, 0xff, 0xff, 0xff, 0xff, 0xe0};   // lea self(%rip), %rax; jmp *%rax
  void* const page = (void*)(address & ~4095ul);
  CHECK(mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == page);
  uint8_t* const code = (uint8_t*)address;
  memcpy(code, kCode, sizeof kCode);
  CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
  Way way;
  memcpy(&way, &code, sizeof way);
  return way;
}

static void leave_by_timer(Way way) {
  for (int k = 0; k < 3; ++k) {
    if (sigsetjmp(back, 1) != 0) continue;
    const struct itimerval once = {{0, 0}, {0, 2000}};
    CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
    way();
  }
}

// A handler that is for one signal only, on a stack that has no room when it comes to be called.
static void once_deep_down(void) {
  static char stack[1 << 16];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  const struct sigaction segv = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  CHECK(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGSEGV, &segv, NULL) == 0);
  for (int k = 0; k < 3; ++k) {
    struct sigaction once = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    CHECK(sigaction(SIGALRM, &once, NULL) == 0);
    const struct itimerval soon = {{0, 0}, {0, 2000}};
    if (sigsetjmp(back, 1) == 0) {
      CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
      way_recursion();
    }
    sigaction(SIGALRM, NULL, &once);
    CHECK(once.sa_handler == SIG_DFL);
  }
}

static Way g_way;
static int g_begun;

static void* go_round(void* unused) {
  (void)unused;
  if (sigsetjmp(back, 1) != 0) return &g_way;
  __atomic_store_n(&g_begun, 1, __ATOMIC_SEQ_CST);
  g_way();
  return NULL;
}

static void change_code_meanwhile(Way way) {
  g_way = way;
  g_begun = 0;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, go_round, &g_way) == 0);
  while (__atomic_load_n(&g_begun, __ATOMIC_SEQ_CST) == 0) sched_yield();
  for (int k = 0; k < 3; ++k) {
    const uint8_t code[] = {0xb8, (uint8_t)k, 0, 0, 0, 0xc3};   // mov $k, %eax; ret
    void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, code, sizeof code);
    CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
    int (*f)(void);
    memcpy(&f, &page, sizeof f);
    CHECK(f() == k);
    CHECK(munmap(page, 4096) == 0);
  }
  CHECK(pthread_kill(thread, SIGUSR1) == 0);
  void* value;
  CHECK(pthread_join(thread, &value) == 0 && value == &g_way);
}

int main(void) {
  struct sigaction action = {.sa_handler = on_signal};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
  // Before there is a second thread, when the table may have fewer places; in this order, in which the second may lead on to the first.
  const Way eighth = aligned_jump(0x40008000), first = aligned_jump(0x40000000);
  leave_by_timer(eighth);
  leave_by_timer(first);
  const Way ways[] = {way_jump, way_branch, way_branches, way_counted, way_indirect_jump, way_indirect_jumps, way_jump_by_memory, way_returns,
                      way_call_and_add, way_call_and_pop, way_call_and_lea, way_call_and_move, way_call_and_leave, way_call_and_jump,
                      way_call_and_branch, way_call_and_exchange, way_indirect_call, way_calls, way_deep_calls,
                      eighth, first, aligned_jump(0x60040004)};
  leave_by_timer(way_recursion);
  leave_by_timer(way_recursions);
  for (unsigned k = 0; k < sizeof ways / sizeof *ways; ++k) {
    leave_by_timer(ways[k]);
    change_code_meanwhile(ways[k]);
    printf("way %u\n", k);
  }
  once_deep_down();
  return finish();
}
