// A limit on the address space that the program sets for itself counts the program's memory, not the engine's.
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/guest/guest.h"

int main(void) {
  const struct rlimit gigabyte = {1ul << 30, 1ul << 30};
  CHECK(setrlimit(RLIMIT_AS, &gigabyte) == 0);
  void* small = mmap(NULL, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(small != MAP_FAILED);
  CHECK(mmap(NULL, 2ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  struct rlimit now;
  CHECK(getrlimit(RLIMIT_AS, &now) == 0);
  CHECK_EQUAL(now.rlim_cur, 1ul << 30);
  return finish();
}
