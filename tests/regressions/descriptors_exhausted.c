// No descriptor is left, and new code is run: the engine must not need one.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/guest/guest.h"

int main(void) {
  const struct rlimit few = {64, 64};
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  int last = -1;
  for (;;) {
    const int fd = open("/dev/null", O_RDONLY);
    if (fd < 0) break;
    last = fd;
  }
  CHECK(errno == EMFILE);
  CHECK_EQUAL(last, 63);
  unsigned char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  memcpy(code, "\xb8\x2a\x00\x00\x00\xc3", 6);   // mov eax, 42; ret
  CHECK_EQUAL(((int (*)(void))code)(), 42);
  return finish();
}
