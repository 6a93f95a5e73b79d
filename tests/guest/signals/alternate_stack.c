// sigaltstack: handlers run there, nested ones stay there, a stack overflow is survivable, SS_DISABLE and queries.
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static char alternate[1 << 16];
static volatile int inside, total;
static sigjmp_buf escape;

static int on_alternate(void) {
  char here;
  return &here >= alternate && &here < alternate + sizeof alternate;
}

static void handler(int signal) {
  CHECK(on_alternate());
  stack_t now;
  CHECK(sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK) && now.ss_sp == alternate);
  ++inside;
  ++total;
  if (inside < 3) raise(signal);
  --inside;
}

static void overflow_handler(int signal, siginfo_t* info, void* context) {
  (void)context;
  CHECK(signal == SIGSEGV && on_alternate() && info->si_addr != NULL);
  siglongjmp(escape, 1);
}

#pragma GCC diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline)) static int overflow(int n) {
  volatile char frame[100000];
  frame[n % 100000] = n;
  return overflow(n + 1) + frame[0];
}

static void on_the_ordinary_stack(int signal) {
  (void)signal;
  CHECK(!on_alternate());
  ++total;
}

static void tell(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  const stack_t before = ((ucontext_t*)context)->uc_stack;
  stack_t now;
  CHECK(sigaltstack(NULL, &now) == 0);
  printf("handler: %#x %zu, now %#x\n", before.ss_flags, before.ss_size, now.ss_flags);
}

int main(void) {
  // Before there is one: asking for none again changes nothing (Linux 5.16 and later), a small one is refused.
  const stack_t none = {0}, small = {.ss_sp = alternate, .ss_size = 100};
  printf("none: %d, small: %d\n", sigaltstack(&none, NULL), sigaltstack(&small, NULL));
  struct sigaction telling = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  CHECK(sigaction(SIGUSR2, &telling, NULL) == 0 && raise(SIGUSR2) == 0);
  printf("none behind a handler: %d\n", sigaltstack(&none, NULL));
  // What a handler finds, and what is then set again, are the flags that were given, not the state.
  const int flags[] = {0, SS_ONSTACK, 1 << 31, 1 << 31 | SS_ONSTACK, 1 << 31 | SS_DISABLE};
  for (unsigned i = 0; i < sizeof flags / sizeof *flags; ++i) {
    const stack_t with = {.ss_sp = alternate, .ss_size = sizeof alternate, .ss_flags = flags[i]};
    CHECK(sigaltstack(&with, NULL) == 0 && raise(SIGUSR2) == 0);
    stack_t behind;
    CHECK(sigaltstack(NULL, &behind) == 0);
    printf("behind: %#x %zu\n", behind.ss_flags, behind.ss_size);
  }
  const stack_t disabled = {.ss_flags = SS_DISABLE};
  CHECK(sigaltstack(&disabled, NULL) == 0 && sigaltstack(&disabled, NULL) == 0);
  printf("none behind it: %d\n", sigaltstack(&none, NULL));
  stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate}, old;
  CHECK(sigaltstack(&stack, &old) == 0 && (old.ss_flags & SS_DISABLE));
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < 50; ++i) raise(SIGUSR1);
  CHECK_EQUAL(total, 150);
  action = (struct sigaction){.sa_handler = on_the_ordinary_stack};
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0 && raise(SIGUSR2) == 0);
  CHECK_EQUAL(total, 151);
  action = (struct sigaction){.sa_sigaction = overflow_handler, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  for (volatile int i = 0; i < 3; ++i) {
    if (sigsetjmp(escape, 1) == 0) {
      overflow(1);
      CHECK(0);
    }
  }
  stack.ss_flags = SS_DISABLE;
  CHECK(sigaltstack(&stack, NULL) == 0 && sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE));
  return finish();
}
