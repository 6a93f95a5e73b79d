// A program that has as many mappings as there may be goes on: code that is new wants memory of the engine, but no mapping.
#include <errno.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kFunctions = 140000, kFunctionBytes = 16 };

// mov eax, number; ret
static void put_function(uint8_t* at, uint32_t number) {
  at[0] = 0xb8;
  memcpy(at + 1, &number, sizeof number);
  at[5] = 0xc3;
}

// Neighbours differ in their protection, so each is a mapping of its own.
static int fill(void) {
  for (int k = 0; k < 80000; ++k) {
    const int protection = k % 2 ? PROT_READ : PROT_NONE;
    if (mmap(NULL, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return errno == ENOMEM;
  }
  return 0;
}

int main(void) {
  uint8_t* code = mmap(NULL, kFunctions * kFunctionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (uint32_t k = 0; k < kFunctions; ++k) put_function(code + k * kFunctionBytes, k);
  CHECK(mprotect(code, kFunctions * kFunctionBytes, PROT_READ | PROT_EXEC) == 0);
  skip_unless(fill(), "limit of mappings below 80000");
  for (uint32_t k = 0; k < kFunctions; ++k) CHECK_EQUAL(((uint32_t(*)(void))(code + k * kFunctionBytes))(), k);
  return finish();
}
