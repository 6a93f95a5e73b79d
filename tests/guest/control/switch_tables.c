// build: -O2 -fno-inline
// Jump tables: dense, with holes, nested, driven by a pseudo-random sequence so that each site has many targets.
#include "tests/guest/guest.h"

static uint64_t step(unsigned op, uint64_t x) {
  switch (op) {
    case 0: return x + 1;
    case 1: return x * 3;
    case 2: return x ^ 0x5555;
    case 3: return x - 77;
    case 4: return x << 1;
    case 5: return x >> 3;
    case 6: return ~x;
    case 7: return x % 1000003;
    case 8: return x | 4;
    case 9: return x & ~8ull;
    case 12: return __builtin_bswap64(x);
    case 13: return x * x;
    case 19: return x / 7;
    case 20: return x + (x >> 5);
    default: return x ^ op;
  }
}

static unsigned classify(unsigned char c) {
  switch (c) {
    case 'a' ... 'f': return step(c - 'a', c) & 0xff;
    case '0' ... '9': return step(c & 15, c + 1) & 0xff;
    case ' ': case '\t': return 250;
    case '(': case ')': case '[': case ']': return c;
    default: return step(c % 23, 1) & 0xff;
  }
}

int main(void) {
  uint64_t state = 1, hash = 0;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    hash = mix(step(state >> 59, hash), classify(state >> 32));
  }
  CHECK_EQUAL(step(13, 12), 144);
  CHECK_EQUAL(classify('['), '[');
  printf("%016llx\n", (unsigned long long)hash);
  return finish();
}
