// A program that switches randomisation of addresses off and executes itself finds it off, and does not do so for ever.
#include <sys/personality.h>

#include "tests/guest/guest.h"

static unsigned long shown(void) {
  unsigned long value;
  FILE* file = fopen("/proc/self/personality", "r");
  CHECK(file != NULL && fscanf(file, "%lx", &value) == 1);
  fclose(file);
  return value;
}

int main(int argc, char** argv) {
  const int now = personality(0xffffffff);
  CHECK_EQUAL(shown(), now);
  printf("%x\n", now);
  fflush(stdout);
  if (argc == 1) {
    CHECK(personality((unsigned long)now | ADDR_NO_RANDOMIZE) == now);
    CHECK_EQUAL(shown(), now | ADDR_NO_RANDOMIZE);
    execl(argv[0], argv[0], "again", NULL);
    return 1;
  }
  if (argc == 2) {
    CHECK(personality(0) == now);
    execl(argv[0], argv[0], "and", "again", NULL);
    return 1;
  }
  return finish();
}
