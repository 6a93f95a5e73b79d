// A program that has asked for a new namespace of processes reads of itself, and then makes the first process there.
#include <sched.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static void read_of_self(void) {
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  while (fgets(line, sizeof line, maps) != NULL) CHECK(strstr(line, "simrun") == NULL);
  fclose(maps);
}

int main(void) {
  skip_unless(unshare(CLONE_NEWPID) == 0, "right to a new namespace");
  read_of_self();
  const pid_t first = fork();
  if (first == 0) _exit(getpid() == 1 ? 7 : 8);
  int status;
  CHECK(first > 0 && waitpid(first, &status, 0) == first && status == 7 << 8);
  return finish();
}
