// A process that forks and ends, and goes on in its child, eighty times: no generation is larger than the one before.
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static long resident_kilobytes(void) {
  long size = 0, resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2);
  fclose(file);
  return resident * 4;
}

int main(void) {
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  const pid_t first = fork();
  CHECK(first >= 0);
  if (first == 0) {
    long early = 0;
    for (int generation = 1; generation <= 80; ++generation) {
      const pid_t next = fork();
      CHECK(next >= 0);
      if (next > 0) _exit(0);
      if (generation == 20) early = resident_kilobytes();
    }
    const long late = resident_kilobytes();
    if (late > early + 1000) dprintf(2, "%ld KiB, then %ld\n", early, late);
    _exit(late > early + 1000);
  }
  int status, children = 0;
  for (; wait(&status) > 0; ++children) CHECK_EQUAL(status, 0);
  CHECK_EQUAL(children, 81);
  return finish();
}
