// A program without /proc (chroot into an empty folder) that runs new code.
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/guest/guest.h"

int main(void) {
  mkdir("empty", 0755);
  unshare(CLONE_NEWUSER);
  if (chroot("empty") != 0) {
    puts("SKIPPED: no chroot");
    return 0;
  }
  unsigned char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, "\xb8\x2a\x00\x00\x00\xc3", 6);
  CHECK_EQUAL(((int (*)(void))code)(), 42);
  return finish();
}
