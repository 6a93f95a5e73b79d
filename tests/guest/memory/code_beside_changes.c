// An instruction that begins where code cannot change and ends where it can.
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };

// mov eax, 1; nops; ret, with `before` bytes of the first instruction on the first page.
static void check(int before, int jump_first) {
  unsigned char* const pages = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0x90, 0x90, 0xc3};
  unsigned char* const at = pages + kPage - before;
  memcpy(at, code, sizeof code);
  memset(at - 8, 0x90, 8);
  CHECK(mprotect(pages, kPage, PROT_READ | PROT_EXEC) == 0);
  CHECK(mprotect(pages + kPage, kPage, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  int (*const function)(void) = (int (*)(void))(jump_first ? at - 8 : at);
  for (int k = 1; k < 20; ++k) {
    at[4] = (unsigned char)k;   // the highest byte of the number
    CHECK_EQUAL(function(), 1 | k << 24);
  }
  CHECK(munmap(pages, 2 * kPage) == 0);
}

int main(void) {
  for (int before = 1; before <= 4; ++before) {
    check(before, 0);
    check(before, 1);
  }
  return finish();
}
