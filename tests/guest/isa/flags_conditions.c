// Every condition of jcc, setcc and cmovcc against every state of the six status flags.
#include "tests/guest/guest.h"

enum { kCarry = 1, kParity = 4, kAdjust = 0x10, kZero = 0x40, kSign = 0x80, kOverflow = 0x800 };

static int expected(int condition, unsigned flags) {
  const int c = !!(flags & kCarry), p = !!(flags & kParity), z = !!(flags & kZero), s = !!(flags & kSign),
            o = !!(flags & kOverflow);
  const int base[8] = {o, c, z, c | z, s, p, s != o, z | (s != o)};
  return base[condition >> 1] ^ (condition & 1);
}

#define ONE(number, name)                                                                                        \
  {                                                                                                              \
    uint64_t jumped, moved = 0;                                                                                  \
    uint8_t set;                                                                                                 \
    asm volatile("push %[flags]; popfq; mov $1, %k[jumped]; j" name " 1f; mov $0, %k[jumped]; 1:"                \
                 "set" name " %[set]; cmov" name " %[one], %[moved]; pushfq; pop %[after]"                       \
                 : [jumped] "=&r"(jumped), [moved] "+&r"(moved), [set] "=&q"(set), [after] "=&r"(after)          \
                 : [flags] "r"(flags), [one] "r"(1ull)                                                           \
                 : "cc", "memory");                                                                              \
    CHECK_EQUAL(jumped, expected(number, flags));                                                                \
    CHECK_EQUAL(moved, expected(number, flags));                                                                 \
    CHECK_EQUAL(set, expected(number, flags));                                                                   \
    CHECK_EQUAL(after & 0x8d5, flags & 0x8d5);                                                                   \
  }

int main(void) {
  const unsigned bits[6] = {kCarry, kParity, kAdjust, kZero, kSign, kOverflow};
  for (unsigned state = 0; state < 64; ++state) {
    uint64_t flags = 0x202, after;
    for (int i = 0; i < 6; ++i)
      if (state >> i & 1) flags |= bits[i];
    ONE(0, "o") ONE(1, "no") ONE(2, "b") ONE(3, "ae") ONE(4, "e") ONE(5, "ne") ONE(6, "be") ONE(7, "a")
    ONE(8, "s") ONE(9, "ns") ONE(10, "p") ONE(11, "np") ONE(12, "l") ONE(13, "ge") ONE(14, "le") ONE(15, "g")
  }
  return finish();
}
