// Long ways forwards by direct jumps, with many references: whoever writes them down must look for room in time, wherever the way began.
#include "tests/guest/guest.h"

// Each load has an address of its own: what the load before it found.
#define BLOCK(loads) ".rept " #loads "\n\tmov (%[at]), %[at]\n\t.endr\n\tjmp 1f\n1:\n\t"
#define CHAIN(blocks, loads) ".rept " #blocks "\n\t" BLOCK(loads) ".endr"

static void* cell = &cell;

int main(void) {
  for (int round = 0; round < 60; ++round) {
    void* at = &cell;
    for (int k = 0; k < round % 7; ++k) __asm__ volatile("mov (%[at]), %[at]" : [at] "+r"(at) : : "memory");   // so that chains begin anywhere
    __asm__ volatile(CHAIN(600, 5) : [at] "+r"(at) : : "memory");
    CHECK(at == &cell);
    __asm__ volatile(CHAIN(600, 48) : [at] "+r"(at) : : "memory");
    CHECK(at == &cell);
    __asm__ volatile(CHAIN(300, 1) "\n\t" CHAIN(300, 20) : [at] "+r"(at) : : "memory");
    CHECK(at == &cell);
    void* to = at;
    uint64_t none = 0;
    // The most words that an instruction has, without a single reference.
    __asm__ volatile(".rept 100\n\t.rept 40\n\trep movsb\n\t.endr\n\tjmp 1f\n1:\n\t.endr" : "+S"(at), "+D"(to), "+c"(none) : : "memory");
    CHECK(at == &cell && to == &cell && none == 0);
  }
  return finish();
}
