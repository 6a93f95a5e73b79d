// build: -pthread
// EINTR and SA_RESTART: read from a pipe, nanosleep, poll, wait, futex, sigsuspend, pselect, each interrupted by a
// handler for certain: the signal comes from a thread that waits until the victim sleeps in the kernel
// (/proc/PID/task/TID/syscall).
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/guest/guest.h"

static volatile int calls, wake_fd = -1;
static pid_t victim;

static void handler(int signal) {
  (void)signal;
  ++calls;
}

// Does the thread sleep in a system call? Not in futex: simrun's engine waits so for space in a ring.
static int sleeps_in_call(pid_t tid) {
  char path[64], text[512] = {0};
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
  FILE* f = fopen(path, "r");
  CHECK(f != NULL && fread(text, 1, sizeof text - 1, f) > 0);
  fclose(f);
  return text[0] >= '0' && text[0] <= '9' && atoi(text) != SYS_futex;
}

// Sends one signal when the victim sleeps; with a descriptor, then also a byte, so that a restarted read ends.
static void* disturb(void* thread) {
  const int before = calls;
  while (!sleeps_in_call(victim)) sched_yield();
  pthread_kill(*(pthread_t*)thread, SIGUSR1);
  if (wake_fd >= 0) {
    while (calls == before) sched_yield();
    CHECK(write(wake_fd, "x", 1) == 1);
  }
  return NULL;
}

#define DISTURBED(call, result_wanted, error_wanted)                                \
  {                                                                                 \
    pthread_t self = pthread_self(), other;                                         \
    calls = 0;                                                                      \
    CHECK(pthread_create(&other, NULL, disturb, &self) == 0);                       \
    errno = 0;                                                                      \
    const long result = (call);                                                     \
    const int error = errno;                                                        \
    CHECK(pthread_join(other, NULL) == 0);                                          \
    CHECK_EQUAL(result, result_wanted);                                             \
    CHECK_EQUAL(error, error_wanted);                                               \
    CHECK_EQUAL(calls, 1);                                                          \
  }

static void handle(int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

int main(void) {
  int fds[2];
  char byte;
  CHECK(pipe(fds) == 0);
  victim = gettid();
  const struct timespec long_time = {30, 0};
  struct timespec left = {0, 0};
  struct pollfd waiting = {.fd = fds[0], .events = POLLIN};
  sigset_t none, usr1;
  sigemptyset(&none);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  for (int round = 0; round < 10; ++round) {
    wake_fd = -1;
    handle(0);
    DISTURBED(read(fds[0], &byte, 1), -1, EINTR)
    DISTURBED(nanosleep(&long_time, &left), -1, EINTR)
    CHECK(left.tv_sec >= 20 && left.tv_sec <= 30);
    DISTURBED(clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL), EINTR, 0)
    DISTURBED(poll(&waiting, 1, 30000), -1, EINTR)
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fds[0], &set);
    DISTURBED(pselect(fds[0] + 1, &set, NULL, NULL, &long_time, &none), -1, EINTR)
    DISTURBED(pause(), -1, EINTR)
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    DISTURBED(sigsuspend(&none), -1, EINTR)
    sigset_t now;
    CHECK(sigprocmask(SIG_UNBLOCK, &usr1, &now) == 0 && sigismember(&now, SIGUSR1));
    handle(SA_RESTART);
    DISTURBED(poll(&waiting, 1, 30000), -1, EINTR)  // never restarted
    wake_fd = fds[1];
    DISTURBED(read(fds[0], &byte, 1), 1, 0)         // restarted
    CHECK(byte == 'x');
  }
  return finish();
}
