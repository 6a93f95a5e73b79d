// Chains of adc, sbb, rcl and rcr through loops whose counters keep the carry flag: the flag is live over every
// superblock border.
#include "tests/guest/guest.h"

enum { kLimbs = 57 };

static uint64_t add_limbs(uint64_t* sum, const uint64_t* a, const uint64_t* b, uint64_t n) {
  uint64_t carry, i = 0, t;
  asm volatile("clc; 1: mov (%[a],%[i],8), %[t]; adc (%[b],%[i],8), %[t]; mov %[t], (%[sum],%[i],8);"
               "lea 1(%[i]), %[i]; dec %[n]; jnz 1b; sbb %[carry], %[carry]"
               : [i] "+&r"(i), [n] "+&r"(n), [t] "=&r"(t), [carry] "=&r"(carry)
               : [a] "r"(a), [b] "r"(b), [sum] "r"(sum) : "cc", "memory");
  return -carry;
}

static uint64_t subtract_limbs(uint64_t* difference, const uint64_t* a, const uint64_t* b, uint64_t n) {
  uint64_t borrow, i = 0;
  asm volatile("clc; 1: mov (%[a],%[i],8), %%rax; sbb (%[b],%[i],8), %%rax; mov %%rax, (%[d],%[i],8);"
               "inc %[i]; loop 1b; setc %%al; movzbl %%al, %%eax; mov %%rax, %[borrow]"
               : [i] "+&r"(i), "+c"(n), [borrow] "=&r"(borrow)
               : [a] "r"(a), [b] "r"(b), [d] "r"(difference) : "rax", "cc", "memory");
  return borrow;
}

static uint64_t shift_limbs_left(uint64_t* a, uint64_t n) {
  uint64_t out;
  asm volatile("clc; 1: rclq (%[a]); lea 8(%[a]), %[a]; loop 1b; mov $0, %k[out]; rcl %[out]"
               : [a] "+&r"(a), "+c"(n), [out] "=&r"(out) : : "cc", "memory");
  return out;
}

int main(void) {
  uint64_t a[kLimbs], b[kLimbs], sum[kLimbs], back[kLimbs], seed = 1;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < kLimbs; ++i) {
      seed = mix(seed, i);
      a[i] = round % 3 ? seed : ~0ull;
      b[i] = round % 5 ? mix(seed, 1) : (i == 0);
    }
    unsigned char carry = 0;
    const uint64_t out = add_limbs(sum, a, b, kLimbs);
    for (int i = 0; i < kLimbs; ++i) {
      unsigned __int128 s = (unsigned __int128)a[i] + b[i] + carry;
      CHECK_EQUAL(sum[i], (uint64_t)s);
      carry = s >> 64;
    }
    CHECK_EQUAL(out, carry);
    CHECK_EQUAL(subtract_limbs(back, sum, b, kLimbs), carry);
    CHECK(memcmp(back, a, sizeof a) == 0);
    CHECK_EQUAL(shift_limbs_left(back, kLimbs), a[kLimbs - 1] >> 63);
    for (int i = 0; i < kLimbs; ++i) CHECK_EQUAL(back[i], a[i] << 1 | (i ? a[i - 1] >> 63 : 0));
  }
  return finish();
}
