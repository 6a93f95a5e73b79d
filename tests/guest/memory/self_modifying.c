// A function that changes an immediate of its own, ahead of itself and in its own block; the next execution must see
// it.
#include <sys/mman.h>

#include "tests/guest/guest.h"

int main(void) {
  uint8_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  // incl 4+imm(%rip) ; jmp .+0 ; mov $imm32, %eax ; ret: the instruction behind the jump was changed just before it
  // runs.
  const uint8_t body[] = {0xff, 0x05, 3, 0, 0, 0, 0xeb, 0x00, 0xb8, 0, 0, 0, 0, 0xc3};
  memcpy(code, body, sizeof body);
  for (int i = 1; i < 100; ++i) CHECK_EQUAL(((int (*)(void))code)(), i);
  return finish();
}
