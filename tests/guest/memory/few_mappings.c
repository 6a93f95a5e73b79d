// A program that has all its mappings but four: the engine's tables cannot grow as they would, and it goes on.
#include <errno.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kFunctions = 3000, kFunctionBytes = 16, kMost = 80000, kLeft = 4 };

static void* mappings[kMost];

int main(void) {
  uint8_t* code = mmap(NULL, kFunctions * kFunctionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (uint32_t k = 0; k < kFunctions; ++k) {
    uint8_t* const at = code + k * kFunctionBytes;   // mov eax, k; ret
    at[0] = 0xb8;
    memcpy(at + 1, &k, sizeof k);
    at[5] = 0xc3;
  }
  CHECK(mprotect(code, kFunctions * kFunctionBytes, PROT_READ | PROT_EXEC) == 0);
  // Neighbours differ in their protection, so each is a mapping of its own.
  int count = 0;
  for (; count < kMost; ++count) {
    mappings[count] = mmap(NULL, kPage, count % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mappings[count] == MAP_FAILED) break;
  }
  skip_unless(count < kMost && errno == ENOMEM, "limit of mappings below 80000");
  for (int k = 1; k <= kLeft; ++k) CHECK(munmap(mappings[count - k], kPage) == 0);
  for (int round = 0; round < 2; ++round)
    for (uint32_t k = 0; k < kFunctions; ++k) CHECK_EQUAL(((uint32_t(*)(void))(code + k * kFunctionBytes))(), k);
  return finish();
}
