// A small code generator: the same address holds another function in each round; by rewriting in place (writable and executable), by
// changing protections, by unmapping and mapping anew, and through a second mapping of the same memory.
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

static void in_place(void) {
  uint8_t* code = map(PROT_READ | PROT_WRITE | PROT_EXEC);
  for (int i = 0; i < 300; ++i) {
    emit(code + i % 3 * 64, i);
    CHECK_EQUAL(((Function)(code + i % 3 * 64))(5), 5 + i);
    CHECK_EQUAL(((Function)(code + i % 3 * 64))(6), 6 + i);
  }
  munmap(code, 4096);
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
  puts("in place"), fflush(stdout);
  in_place();
  puts("by protection"), fflush(stdout);
  by_protection();
  puts("by mapping"), fflush(stdout);
  by_mapping();
  puts("by second mapping"), fflush(stdout);
  by_second_mapping();
  return finish();
}
