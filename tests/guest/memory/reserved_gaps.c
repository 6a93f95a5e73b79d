// The address space as sanitizers lay it out: large gaps reserved without access, shadow memory at fixed addresses; and 64 TiB
// in one piece.
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

static void* map(unsigned long at, unsigned long bytes, int protection, int flags) {
  return mmap((void*)at, bytes, protection, flags, -1, 0);
}

int main(void) {
  char* const all = map(0, 1ul << 46, PROT_NONE, kReserve);
  CHECK(all != MAP_FAILED);
  CHECK_EQUAL(munmap(all, 1ul << 46), 0);
  // compiler-rt: tsan_platform.h, msan.h
  static const unsigned long gaps[][2] = {{0x020000000000, 0x100000000000}, {0x340000000000, 0x550000000000},
                                          {0x568000000000, 0x7b0000000000}};
  for (int k = 0; k < 3; ++k) {
    CHECK_EQUAL((unsigned long)map(gaps[k][0], gaps[k][1] - gaps[k][0], PROT_NONE, kReserve | MAP_FIXED), gaps[k][0]);
  }
  char* const shadow = map(0x100000000000, 0x200000000000, PROT_READ | PROT_WRITE, kReserve | MAP_FIXED);
  CHECK_EQUAL((unsigned long)shadow, 0x100000000000);
  for (unsigned long at = 0; at < 0x200000000000; at += 0x010000000000) shadow[at] = 1;
  CHECK(map(0x500000000000, 4096, PROT_READ, kReserve | MAP_FIXED) != MAP_FAILED);
  CHECK_EQUAL(munmap((void*)0x340000000000, 0x210000000000), 0);
  return finish();
}
