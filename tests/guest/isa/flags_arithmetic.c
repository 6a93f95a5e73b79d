// The status flags after each arithmetic instruction, each flag read by its own jcc, setcc and cmov, against a model in
// C.
#include "tests/guest/guest.h"

static const uint64_t kValues[] = {0,
                                   1,
                                   2,
                                   0x7f,
                                   0x80,
                                   0xff,
                                   0x7fff,
                                   0x8000,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xffffffffffffffff,
                                   0x123456789abcdef0};
enum { kCount = sizeof kValues / sizeof kValues[0] };

static uint64_t model(uint64_t a, uint64_t b, int subtract, int bits, uint64_t* result) {
  const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  a &= mask;
  b &= mask;
  const uint64_t r = (subtract ? a - b : a + b) & mask;
  const int sign_a = a >> (bits - 1), sign_b = b >> (bits - 1), sign_r = r >> (bits - 1);
  uint64_t flags = 0;
  if (subtract ? a < b : r < a) flags |= 1;
  if (!__builtin_parity(r & 0xff)) flags |= 4;
  if ((a ^ b ^ r) & 0x10) flags |= 0x10;
  if (r == 0) flags |= 0x40;
  if (sign_r) flags |= 0x80;
  if (subtract ? (sign_a != sign_b && sign_r != sign_a) : (sign_a == sign_b && sign_r != sign_a)) flags |= 0x800;
  *result = r;
  return flags;
}

// Each flag is read by a branch, so that a superblock border may lie between its definition and each use.
#define READ_BY_JUMPS                                                                    \
  "mov $0, %k[got]; jnc 1f; lea 1(%[got]), %[got]; 1: jnp 2f; lea 4(%[got]), %[got]; 2:" \
  "jnz 3f; lea 0x40(%[got]), %[got]; 3: jns 4f; lea 0x80(%[got]), %[got]; 4:"            \
  "jno 5f; lea 0x800(%[got]), %[got]; 5:"

#define ONE(op, suffix, bits, modifier, subtract)                                                           \
  {                                                                                                         \
    uint64_t value = a, got, pushed, want;                                                                  \
    const uint64_t flags = model(a, b, subtract, bits, &want);                                              \
    asm volatile(op suffix " %" modifier "[b], %" modifier "[value];" READ_BY_JUMPS "pushfq; pop %[pushed]" \
                 : [value] "+&q"(value), [got] "=&r"(got), [pushed] "=&r"(pushed)                           \
                 : [b] "q"(b)                                                                               \
                 : "cc", "memory");                                                                         \
    CHECK_EQUAL(got, flags & ~0x10ull);                                                                     \
    CHECK_EQUAL(pushed & 0x8d5, flags);                                                                     \
    if (op[0] != 'c') CHECK_EQUAL(bits == 64 ? value : value & ((1ull << (bits & 63)) - 1), want);          \
  }
#define ALL_WIDTHS(op, subtract) \
  ONE(op, "b", 8, "b", subtract) \
  ONE(op, "w", 16, "w", subtract) ONE(op, "l", 32, "k", subtract) ONE(op, "q", 64, "q", subtract)

static void increments_keep_carry(uint64_t a) {
  for (uint64_t carry = 0; carry < 2; ++carry) {
    uint64_t up = a, down = a, after_up, after_down;
    asm volatile(
        "bt $0, %[carry]; inc %[up]; jz 1f; 1: setc %b[after_up]; movzbl %b[after_up], %k[after_up];"
        "bt $0, %[carry]; dec %[down]; js 2f; 2: mov $0, %k[after_down]; adc $0, %[after_down]"
        : [up] "+&r"(up), [down] "+&r"(down), [after_up] "=&q"(after_up), [after_down] "=&r"(after_down)
        : [carry] "r"(carry)
        : "cc");
    CHECK_EQUAL(up, a + 1);
    CHECK_EQUAL(down, a - 1);
    CHECK_EQUAL(after_up, carry);
    CHECK_EQUAL(after_down, carry);
  }
}

int main(void) {
  for (int i = 0; i < kCount; ++i) {
    increments_keep_carry(kValues[i]);
    for (int j = 0; j < kCount; ++j) {
      const uint64_t a = kValues[i], b = kValues[j];
      ALL_WIDTHS("add", 0)
      ALL_WIDTHS("sub", 1)
      ALL_WIDTHS("cmp", 1)
    }
  }
  return finish();
}
