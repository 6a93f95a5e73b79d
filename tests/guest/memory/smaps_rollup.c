// The sums of /proc/self/smaps_rollup are of what maps and smaps show, and the file looks as the kernel's.
#include "../guest.h"

static unsigned long sum_of(const char* path, const char* key, char* header) {
  FILE* file = fopen(path, "r");
  CHECK(file != NULL);
  char line[512];
  unsigned long sum = 0, value;
  for (int k = 0; fgets(line, sizeof line, file); ++k) {
    if (k == 0 && header != NULL) strcpy(header, line);
    if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%lu kB", &value) == 1) sum += value;
  }
  fclose(file);
  return sum;
}

int main(void) {
  static char memory[8 << 20];
  memset(memory, 1, sizeof memory);
  char header[512], line[512];
  const unsigned long rss = sum_of("/proc/self/smaps_rollup", "Rss:", header);
  const unsigned long parts = sum_of("/proc/self/smaps", "Rss:", NULL);
  CHECK(rss >= sizeof memory >> 10);
  CHECK(rss < parts + 1024 && parts < rss + 1024);
  const unsigned long anonymous = sum_of("/proc/self/smaps_rollup", "Anonymous:", NULL);
  CHECK(anonymous >= sizeof memory >> 10 && anonymous < (sizeof memory >> 10) + 1024);

  unsigned long first = 0, last = 0, from, to, shown_first, shown_last;
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  while (fgets(line, sizeof line, maps)) {
    CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2);
    if (strstr(line, "[vsyscall]")) continue;
    if (first == 0) first = from;
    last = to;
  }
  fclose(maps);
  CHECK(sscanf(header, "%lx-%lx ---p 00000000 00:00 0 ", &shown_first, &shown_last) == 2);
  CHECK_EQUAL(shown_first, first);
  CHECK_EQUAL(shown_last, last);
  CHECK(strstr(header, " [rollup]\n") != NULL && strlen(header) == 73 + strlen("[rollup]\n"));
  puts("EXIT-SUCCESS");
}
