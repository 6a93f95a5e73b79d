// The program's own files of /proc after it has taken another effective user id: the process is then not "dumpable",
// and its folder root's, but what everybody may read stays readable. Without root: nothing to do.
#include <sys/prctl.h>

#include "tests/guest/guest.h"

static void read_all(uid_t expected) {
  static const char* const kNames[] = {"/proc/self/status", "/proc/%d/status", "/proc/self/task/%d/status",
                                       "/proc/self/stat",   "/proc/self/maps", "/proc/self/statm",
                                       "/proc/self/limits"};
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    char name[64], line[512];
    snprintf(name, sizeof name, kNames[i], getpid());
    FILE* file = fopen(name, "r");
    CHECK(file != NULL);
    int lines = 0, seen = 0;
    while (fgets(line, sizeof line, file) != NULL) {
      unsigned real, effective;
      if (sscanf(line, "Uid: %u %u", &real, &effective) == 2) seen = effective == expected;
      ++lines;
    }
    CHECK(lines > 0 && (i > 2 || seen));
    fclose(file);
  }
}

int main(void) {
  read_all(geteuid());
  if (geteuid() == 0 && seteuid(1) == 0) {
    for (int i = 0; i < 3; ++i) {
      read_all(1);
      CHECK(seteuid(0) == 0);
      read_all(0);
      CHECK(seteuid(1) == 0);
    }
    CHECK(seteuid(0) == 0 && setresuid(0, 2, 1) == 0);
    read_all(2);
    CHECK(setresuid(2, 2, 2) == 0);
    read_all(2);
  }
  return finish();
}
