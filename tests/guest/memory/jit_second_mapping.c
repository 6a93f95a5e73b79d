// A code generator that writes through one mapping and runs from another of the same memory, as V8 and .NET do.
#include <sys/mman.h>

#include "tests/guest/guest.h"

typedef int (*Function)(int);

// lea n(%rdi), %eax ; ret
static void emit(uint8_t* at, int n) {
  at[0] = 0x8d, at[1] = 0x87;
  memcpy(at + 2, &n, 4);
  at[6] = 0xc3;
}

static void by_second_mapping(void) {
  const int file = memfd_create("code", 0);
  CHECK(file >= 0 && ftruncate(file, 4096) == 0);
  uint8_t* writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  uint8_t* executable = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  CHECK(writable != MAP_FAILED && executable != MAP_FAILED);
  for (int i = 0; i < 200; ++i) {
    emit(writable, 5 * i);
    CHECK_EQUAL(((Function)executable)(1), 1 + 5 * i);
  }
}

int main(void) {
  by_second_mapping();
  return finish();
}
