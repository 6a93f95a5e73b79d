// build: -D_GNU_SOURCE
// A loop and the function that it calls directly lie in different views of the code cache (instr/engine/codecache/code_cache.h): one beside
// the program, one between it and the libraries.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { kBytes = 4096, kTurns = 100000 };

static uint8_t* code_at(uint64_t where) {
  void* const p = mmap((void*)where, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return p == (void*)where ? p : NULL;
}

int main(void) {
  static const uint8_t kFunction[] = {0x48, 0xff, 0xc0, 0xc3};   // inc rax; ret
  // xor eax, eax; loop: call function; dec rdi; jnz loop; ret
  static const uint8_t kLoop[] = {0x31, 0xc0, 0xe8, 0, 0, 0, 0, 0x48, 0xff, 0xcf, 0x75, 0xf6, 0xc3};
  const uint64_t here = (uint64_t)&main & ~0xfffffull;
  uint8_t* const loop = code_at(here + 0x20000000);
  uint8_t* const function = code_at(here + 0x60000000);
  if (loop == NULL || function == NULL) return 1;
  memcpy(function, kFunction, sizeof kFunction);
  memcpy(loop, kLoop, sizeof kLoop);
  const int32_t distance = (int32_t)(function - (loop + 7));
  memcpy(loop + 3, &distance, sizeof distance);
  if (mprotect(loop, kBytes, PROT_READ | PROT_EXEC) != 0 || mprotect(function, kBytes, PROT_READ | PROT_EXEC) != 0) return 1;
  return ((uint64_t (*)(uint64_t))(void*)loop)(kTurns) == kTurns ? 0 : 1;
}
