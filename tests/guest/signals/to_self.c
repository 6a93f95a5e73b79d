// SIGUSR1 to oneself by kill, raise, tgkill and sigqueue: SA_SIGINFO's fields, the mask during the handler, SA_NODEFER,
// SA_RESETHAND, nesting, blocking and unblocking, pending, ignoring, real-time signals in order with their values.
#include <signal.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static volatile int calls, depth, deepest, order[32], ordered;
static volatile siginfo_t last;

static void count(int signal) {
  (void)signal;
  ++calls;
}

static void inform(int signal, siginfo_t* info, void* context) {
  CHECK(signal == info->si_signo && context != NULL);
  last = *info;
  ++calls;
}

static void nest(int signal) {
  ++calls;
  if (++depth > deepest) deepest = depth;
  if (depth < 4) raise(signal);
  --depth;
}

static void other_inside(int signal) {
  order[ordered++] = signal;
  if (signal == SIGUSR1 && ordered == 1) {
    raise(SIGUSR1);  // blocked until we return
    raise(SIGUSR2);  // not blocked
    order[ordered++] = -signal;
  }
}

static void real_time(int signal, siginfo_t* info, void* context) {
  (void)context;
  order[ordered++] = signal * 100 + info->si_value.sival_int;
}

static void install(int signal, void* handler, int flags) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  CHECK(sigaction(signal, &action, NULL) == 0);
}

static void handler_information(void) {
  install(SIGUSR1, inform, SA_SIGINFO);
  for (int i = 0; i < 100; ++i) {
    calls = 0;
    kill(getpid(), SIGUSR1);
    CHECK(calls == 1 && last.si_code == SI_USER && last.si_pid == getpid());
    syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
    CHECK(calls == 2 && last.si_code == SI_TKILL);
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = i});
    CHECK(calls == 3 && last.si_code == SI_QUEUE && last.si_value.sival_int == i);
  }
}

static void nesting(void) {
  install(SIGUSR1, nest, SA_NODEFER);
  calls = 0;
  raise(SIGUSR1);
  CHECK(calls == 4 && deepest == 4 && depth == 0);
  install(SIGUSR1, other_inside, 0);
  install(SIGUSR2, other_inside, 0);
  raise(SIGUSR1);
  CHECK(ordered == 4 && order[0] == SIGUSR1 && order[1] == SIGUSR2 && order[2] == -SIGUSR1 && order[3] == SIGUSR1);
}

static void blocking(void) {
  sigset_t set, old, pending;
  install(SIGUSR1, count, 0);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0 && !sigismember(&old, SIGUSR1));
  calls = 0;
  raise(SIGUSR1);
  raise(SIGUSR1);
  CHECK(calls == 0 && sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
  CHECK(sigprocmask(SIG_SETMASK, &old, &set) == 0 && sigismember(&set, SIGUSR1));
  CHECK_EQUAL(calls, 1);
  install(SIGUSR1, SIG_IGN, 0);
  raise(SIGUSR1);
  install(SIGUSR1, count, SA_RESETHAND);
  raise(SIGUSR1);
  struct sigaction now;
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL && calls == 2);
  install(SIGUSR1, count, SA_RESTART);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == count && (now.sa_flags & SA_RESTART));
  // Flags that the kernel does not know are not given back (sigaction(2), since Linux 5.11).
  now.sa_flags |= 0x400;
  CHECK(sigaction(SIGUSR1, &now, NULL) == 0 && sigaction(SIGUSR1, NULL, &now) == 0 && (now.sa_flags & 0x400) == 0 && (now.sa_flags & SA_RESTART));
}

static void queueing(void) {
  sigset_t set;
  sigemptyset(&set);
  for (int s = SIGRTMIN; s < SIGRTMIN + 3; ++s) {
    struct sigaction action = {.sa_sigaction = real_time, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    CHECK(sigaction(s, &action, NULL) == 0);
    sigaddset(&set, s);
  }
  sigprocmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < 4; ++i)
    for (int s = SIGRTMIN + 2; s >= SIGRTMIN; --s) CHECK(sigqueue(getpid(), s, (union sigval){.sival_int = i}) == 0);
  ordered = 0;
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  CHECK_EQUAL(ordered, 12);
  for (int i = 0; i < 12; ++i) CHECK_EQUAL(order[i], (SIGRTMIN + i / 4) * 100 + i % 4);
}

int main(void) {
  handler_information();
  puts("information"), fflush(stdout);
  nesting();
  puts("nesting"), fflush(stdout);
  blocking();
  puts("blocking"), fflush(stdout);
  queueing();
  return finish();
}
