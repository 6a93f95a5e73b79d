// A small code generator: the same address holds another function in each round; by changing protections, by unmapping
// and mapping anew, by mapping over.
#include <sys/mman.h>

#include "tests/guest/guest.h"

typedef int (*Function)(int);

// lea n(%rdi), %eax ; ret
static void emit(uint8_t* at, int n) {
  at[0] = 0x8d, at[1] = 0x87;
  memcpy(at + 2, &n, 4);
  at[6] = 0xc3;
}

static uint8_t* map(int protection) {
  uint8_t* p = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}

static void by_protection(void) {
  uint8_t* code = map(PROT_READ | PROT_WRITE);
  for (int i = 0; i < 200; ++i) {
    emit(code, i);
    CHECK(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
    CHECK_EQUAL(((Function)code)(1), 1 + i);
    CHECK(mprotect(code, 4096, PROT_READ | PROT_WRITE) == 0);
  }
  munmap(code, 4096);
}

static void by_mapping(void) {
  uint8_t* at = map(PROT_NONE);
  for (int i = 0; i < 200; ++i) {
    CHECK(munmap(at, 4096) == 0);
    CHECK(mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
    emit(at, 2 * i);
    CHECK(mprotect(at, 4096, PROT_READ | PROT_EXEC) == 0);
    CHECK_EQUAL(((Function)at)(1), 1 + 2 * i);
  }
  for (int i = 0; i < 50; ++i) {  // mapped over, without munmap in between
    uint8_t* fresh = map(PROT_READ | PROT_WRITE);
    emit(fresh, 3 * i);
    CHECK(mprotect(fresh, 4096, PROT_READ | PROT_EXEC) == 0);
    CHECK(mremap(fresh, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at);
    CHECK_EQUAL(((Function)at)(1), 1 + 3 * i);
  }
}

int main(void) {
  puts("by protection"), fflush(stdout);
  by_protection();
  puts("by mapping"), fflush(stdout);
  by_mapping();
  return finish();
}
