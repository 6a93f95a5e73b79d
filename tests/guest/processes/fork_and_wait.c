// fork: memory is copied, status comes back, children of children, a child killed by a signal, fork in a row and many
// at once, files shared.
#include <signal.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static int value = 1;

static int child_ends(void (*what)(void)) {
  int status;
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    what();
    _exit(99);
  }
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

static void changes_memory(void) {
  value = 2;
  _exit(value + 40);
}
static void dies(void) { kill(getpid(), SIGKILL); }
static void faults(void) { __builtin_trap(); }
static void computes(void) {
  uint64_t h = 1;
  for (int i = 0; i < 20000; ++i) h = mix(h, i);
  _exit(h & 63);
}
static void forks(void) {
  const int status = child_ends(changes_memory);
  _exit(WEXITSTATUS(status) + 1);
}

int main(void) {
  int fds[2], status;
  for (int i = 0; i < 10; ++i) {
    CHECK_EQUAL(child_ends(changes_memory), 42 << 8);
    CHECK_EQUAL(value, 1);
  }
  CHECK(WTERMSIG(child_ends(dies)) == SIGKILL);
  CHECK((child_ends(faults) & 0x7f) == SIGILL);
  CHECK_EQUAL(child_ends(forks), 43 << 8);
  uint64_t h = 1;
  for (int i = 0; i < 20000; ++i) h = mix(h, i);
  CHECK_EQUAL(child_ends(computes), (h & 63) << 8);
  CHECK(pipe(fds) == 0);
  for (int i = 0; i < 8; ++i)
    if (fork() == 0) {
      CHECK(write(fds[1], &i, sizeof i) == sizeof i);
      _exit(0);
    }
  int sum = 0;
  for (int i = 0, one; i < 8; ++i) {
    CHECK(read(fds[0], &one, sizeof one) == sizeof one);
    sum += one;
  }
  for (int i = 0; i < 8; ++i) CHECK(wait(&status) > 0 && status == 0);
  CHECK_EQUAL(sum, 28);
  if (fork() == 0) {
    puts("the child prints");
    exit(0);
  }
  wait(&status);
  return finish();
}
