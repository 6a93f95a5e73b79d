// Limits on address space and data are inherited as they are, over generations of each way to start a program.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

extern char** environ;

static void check(int resource, rlim_t soft) {
  struct rlimit limit;
  CHECK(getrlimit(resource, &limit) == 0);
  CHECK_EQUAL(limit.rlim_cur, soft);
  CHECK_EQUAL(limit.rlim_max, RLIM_INFINITY);
}

int main(int argc, char** argv) {
  const rlim_t space = 4ul << 30, data = 3ul << 30;
  const int generation = argc > 1 ? atoi(argv[1]) : 0;
  if (generation == 0) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    skip_unless(limit.rlim_max == RLIM_INFINITY && getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_max == RLIM_INFINITY, "room below the hard limits");
    limit.rlim_cur = space;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = data;
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  }
  check(RLIMIT_AS, space);
  check(RLIMIT_DATA, data);
  if (generation == 6) return 7;
  char next[16];
  snprintf(next, sizeof next, "%d", generation + 1);
  char* const arguments[] = {argv[0], next, NULL};
  pid_t child;
  switch (generation % 3) {
    case 0:
      CHECK(posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) == 0);
      break;
    case 1:
      child = vfork();
      if (child == 0) {
        execv(argv[0], arguments);
        _exit(1);
      }
      break;
    default:
      child = fork();
      if (child == 0) {
        execv(argv[0], arguments);
        _exit(1);
      }
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQUAL(status, 7 << 8);
  check(RLIMIT_AS, space);
  return generation == 0 ? finish() : 7;
}
