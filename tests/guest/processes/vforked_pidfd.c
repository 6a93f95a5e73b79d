// A pidfd says that a child has ended: then it can be waited for. Of vfork, and of programs that are killed soon.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

extern char** environ;

static pid_t start(int way) {
  char* const program[] = {"/bin/sleep", "100", NULL};
  pid_t child;
  if (way == 0) {
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

int main(void) {
  enum { kRounds = 20 };
  const idtype_t by_pidfd = (idtype_t)3;   // P_PIDFD
  for (int k = 0; k < 2 * kRounds; ++k) {
    const int way = k % 2;
    const pid_t child = start(way);
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    CHECK(ended.fd >= 0);
    if (way == 1) {
      usleep((useconds_t)k * 500);
      CHECK_EQUAL(kill(child, SIGKILL), 0);
    }
    int ready;
    while ((ready = poll(&ended, 1, 30000)) == -1 && errno == EINTR) continue;
    CHECK_EQUAL(ready, 1);
    siginfo_t info = {0};
    CHECK_EQUAL(waitid(by_pidfd, (id_t)ended.fd, &info, WEXITED | WNOHANG), 0);
    CHECK_EQUAL(info.si_pid, child);
    if (info.si_pid != child) waitpid(child, NULL, 0);
    close(ended.fd);
  }
  return finish();
}
