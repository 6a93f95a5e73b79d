// Code that lies across page borders: an instruction of every length, cut at every byte, between two mappings.
#include <sys/mman.h>

#include "tests/guest/guest.h"

int main(void) {
  const long page = 4096;
  uint8_t* code = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  // mov $imm64, %rax ; lea 0x11223344(%rax,%rdi,4), %rax ; ret
  const uint8_t body[] = {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0x8d, 0x84, 0xb8, 0x44, 0x33, 0x22, 0x11, 0xc3};
  for (int before = 0; before <= (int)sizeof body; ++before) {
    CHECK(mprotect(code, 2 * page, PROT_READ | PROT_WRITE) == 0);
    memset(code, 0xcc, 2 * page);
    memcpy(code + page - before, body, sizeof body);
    CHECK(mprotect(code, 2 * page, PROT_READ | PROT_EXEC) == 0);
    uint64_t (*function)(uint64_t) = (uint64_t(*)(uint64_t))(code + page - before);
    for (uint64_t i = 0; i < 20; ++i) CHECK_EQUAL(function(i), 0x0807060504030201 + 0x11223344 + 4 * i);
  }
  // The last instruction ends with the page, and nothing is mapped behind it.
  CHECK(munmap(code + page, page) == 0);
  CHECK(mprotect(code, page, PROT_READ | PROT_WRITE) == 0);
  memcpy(code + page - sizeof body, body, sizeof body);
  CHECK(mprotect(code, page, PROT_READ | PROT_EXEC) == 0);
  CHECK_EQUAL(((uint64_t(*)(uint64_t))(code + page - sizeof body))(2), 0x0807060504030201 + 0x11223344 + 8);
  return finish();
}
