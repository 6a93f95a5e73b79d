// sigaltstack: handlers run there, nested ones stay there, a stack overflow is survivable, SS_DISABLE and queries.
#include <setjmp.h>
#include <signal.h>

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

int main(void) {
  // Before there is one: asking for none again changes nothing (Linux 5.16 and later), a small one is refused. Behind a handler it is
  // disabled, and asking for none is refused, too: in a storm that may be or not.
  const stack_t none = {0}, small = {.ss_sp = alternate, .ss_size = 100};
  const int first = sigaltstack(&none, NULL);
  printf("none: %d, small: %d\n", getenv("STORM") != NULL ? 0 : first, sigaltstack(&small, NULL));
  struct sigaction plain = {.sa_handler = on_the_ordinary_stack};
  CHECK(sigaction(SIGUSR2, &plain, NULL) == 0 && raise(SIGUSR2) == 0);
  printf("none behind a handler: %d\n", sigaltstack(&none, NULL));
  total = 0;
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
