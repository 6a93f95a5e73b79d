// A code generator that writes over functions of its own, in memory that is writable and executable at once: no system
// call tells of the change.
#include <sys/mman.h>

#include "tests/guest/guest.h"

typedef int (*Function)(int);

// lea n(%rdi), %eax ; ret
static void emit(uint8_t* at, int n) {
  at[0] = 0x8d, at[1] = 0x87;
  memcpy(at + 2, &n, 4);
  at[6] = 0xc3;
}

static void in_place(void) {
  uint8_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (int i = 0; i < 300; ++i) {
    emit(code + i % 3 * 64, i);
    CHECK_EQUAL(((Function)(code + i % 3 * 64))(5), 5 + i);
    CHECK_EQUAL(((Function)(code + i % 3 * 64))(6), 6 + i);
  }
  munmap(code, 4096);
}

int main(void) {
  in_place();
  return finish();
}
