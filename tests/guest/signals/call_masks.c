// The mask of a handler that interrupts a call with a mask of its own (sigsuspend, ppoll, pselect, io_pgetevents) comes from the
// call's mask.
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "tests/guest/guest.h"

static volatile int blocked_in_handler = -1;

static void handler(int signal) {
  (void)signal;
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  blocked_in_handler = sigismember(&now, SIGUSR2);
}

static void arm(void) {
  blocked_in_handler = -1;
  const struct itimerval soon = {{0, 0}, {0, 20000}};
  CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  sigset_t outside, inside;
  sigemptyset(&outside);
  sigaddset(&outside, SIGUSR2);
  sigaddset(&outside, SIGALRM);
  sigemptyset(&inside);
  CHECK(sigprocmask(SIG_BLOCK, &outside, NULL) == 0);
  arm();
  CHECK(sigsuspend(&inside) == -1 && errno == EINTR && blocked_in_handler == 0);
  arm();
  CHECK(ppoll(NULL, 0, NULL, &inside) == -1 && errno == EINTR && blocked_in_handler == 0);
  sigaddset(&inside, SIGUSR2);
  arm();
  CHECK(pselect(0, NULL, NULL, NULL, NULL, &inside) == -1 && errno == EINTR && blocked_in_handler == 1);
  aio_context_t events = 0;
  CHECK(syscall(SYS_io_setup, 1, &events) == 0);
  struct io_event event;
  for (int blocked = 0; blocked < 2; ++blocked) {
    (blocked ? sigaddset : sigdelset)(&inside, SIGUSR2);
    const struct {
      const sigset_t* mask;
      size_t size;
    } argument = {&inside, 8};
    arm();
    CHECK(syscall(SYS_io_pgetevents, events, 1, 1, &event, NULL, &argument) == -1 && errno == EINTR && blocked_in_handler == blocked);
  }
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  CHECK(sigismember(&now, SIGALRM) && sigismember(&now, SIGUSR2));
  finish();
}
