// A pidfd says that a child has ended: then it can be waited for, by whichever name. Of vfork, of programs that are killed soon, and of some that
// end by themselves.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

extern char** environ;

enum Way { kFailingExec, kKilled, kEndsByItself };

static pid_t start(enum Way way) {
  char* const program[] = {"/bin/sleep", way == kKilled ? "100" : "0", NULL};
  pid_t child;
  if (way == kFailingExec) {
    child = vfork();
    if (child == 0) {
      execv("/nowhere", program);
      _exit(6);
    }
  } else {
    CHECK_EQUAL(posix_spawn(&child, program[0], NULL, NULL, program, environ), 0);
  }
  CHECK(child > 0);
  return child;
}

// What can be waited for now: 0, or the child.
static pid_t wait_now(pid_t child, int descriptor, int way) {
  const idtype_t by_pidfd = (idtype_t)3;   // P_PIDFD
  siginfo_t info = {0};
  if (way == 0) CHECK_EQUAL(waitid(by_pidfd, (id_t)descriptor, &info, WEXITED | WNOHANG), 0);
  if (way == 1) CHECK_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG), 0);
  return way == 2 ? waitpid(child, NULL, WNOHANG) : info.si_pid;
}

int main(void) {
  enum { kRounds = 20, kLateRounds = 6, kWaits = 3 };
  for (int k = 0; k < 2 * kRounds + kLateRounds; ++k) {
    const enum Way way = k < 2 * kRounds ? k % 2 : kEndsByItself;
    const pid_t child = start(way);
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    CHECK(ended.fd >= 0);
    if (way == kKilled) {
      usleep((useconds_t)k * 500);
      CHECK_EQUAL(kill(child, SIGKILL), 0);
    }
    int ready;
    while ((ready = poll(&ended, 1, 30000)) == -1 && errno == EINTR) continue;
    CHECK_EQUAL(ready, 1);
    const pid_t waited = wait_now(child, ended.fd, k / 2 % kWaits);
    CHECK_EQUAL(waited, child);
    if (waited != child) waitpid(child, NULL, 0);
    close(ended.fd);
  }
  return finish();
}
