// Contexts of the C library: swapped, entered from a handler; an alternate stack that is disarmed in its handler, or refuses
// to be changed there.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static ucontext_t main_context, worker_context, saved;
static char stack[1 << 16], alternate[2][1 << 16];
static volatile int steps, in_handler;

static void worker(int a, int b) {
  for (int i = 0; i < 100; ++i) {
    steps += a - b;
    CHECK(swapcontext(&worker_context, &main_context) == 0);
  }
}

static void swapping(void) {
  getcontext(&worker_context);
  worker_context.uc_stack.ss_sp = stack;
  worker_context.uc_stack.ss_size = sizeof stack;
  worker_context.uc_link = &main_context;
  makecontext(&worker_context, (void (*)(void))worker, 2, 5, 2);
  for (int i = 0; i < 101; ++i) CHECK(swapcontext(&main_context, &worker_context) == 0);
  CHECK_EQUAL(steps, 300);
}

static void leaves(int number) {
  (void)number;
  ++in_handler;
  setcontext(&saved);
}

static void left_by_setcontext(void) {
  struct sigaction action = {.sa_handler = leaves};
  sigaction(SIGUSR1, &action, NULL);
  volatile int rounds = 0;
  getcontext(&saved);  // with its mask: SIGUSR1 is not blocked behind it
  if (++rounds <= 20) raise(SIGUSR1);
  CHECK(in_handler == 20 && rounds == 21);
}

static volatile stack_t at_entry;
static volatile int change_error;

static void on_stack(int number) {
  (void)number;
  ++in_handler;
  stack_t found;
  sigaltstack(NULL, &found);
  at_entry = found;
  const stack_t other = {.ss_sp = alternate[1], .ss_size = sizeof alternate[1]};
  change_error = sigaltstack(&other, NULL) == 0 ? 0 : errno;
  char here;
  CHECK(&here > alternate[0] && &here < alternate[0] + sizeof alternate[0]);
}

static sigjmp_buf back;

static void jumps(int number) {
  (void)number;
  siglongjmp(back, 1);
}

static void alternate_stacks(void) {
  struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  stack_t plain = {.ss_sp = alternate[0], .ss_size = sizeof alternate[0]}, now;
  CHECK(sigaltstack(&plain, NULL) == 0);
  raise(SIGUSR2);
  CHECK(at_entry.ss_flags == SS_ONSTACK && change_error == EPERM);
  sigaltstack(NULL, &now);
  CHECK(now.ss_flags == 0 && now.ss_sp == alternate[0]);

  stack_t disarmed = plain;
  disarmed.ss_flags = (int)SS_AUTODISARM;
  CHECK(sigaltstack(&disarmed, NULL) == 0);
  raise(SIGUSR2);
  CHECK(at_entry.ss_flags == SS_DISABLE && change_error == 0);
  sigaltstack(NULL, &now);  // the frame put the first one back
  CHECK(now.ss_flags == (int)SS_AUTODISARM && now.ss_sp == alternate[0] && now.ss_size == sizeof alternate[0]);
  action.sa_handler = jumps;
  sigaction(SIGUSR2, &action, NULL);
  if (sigsetjmp(back, 1) == 0) raise(SIGUSR2);
  sigaltstack(NULL, &now);  // left otherwise: still disarmed
  CHECK_EQUAL(now.ss_flags, SS_DISABLE);

  stack_t wrong = plain;
  wrong.ss_size = 100;
  CHECK(sigaltstack(&wrong, NULL) == -1 && errno == ENOMEM);
  wrong = plain;
  wrong.ss_flags = 8;
  CHECK(sigaltstack(&wrong, NULL) == -1 && errno == EINVAL);
  wrong.ss_flags = SS_DISABLE;
  CHECK(sigaltstack(&wrong, &now) == 0);
  CHECK(sigaltstack((stack_t*)8, NULL) == -1 && errno == EFAULT);
}

int main(void) {
  swapping();
  left_by_setcontext();
  alternate_stacks();
  return finish();
}
