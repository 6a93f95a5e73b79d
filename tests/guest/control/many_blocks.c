// build: -O1
// More code than a small code cache holds, run again and again: 3000 functions of their own, called in changing order.
#include "tests/guest/guest.h"

#define F(n)                                                   \
  __attribute__((noinline)) static uint64_t f##n(uint64_t x) { \
    if (x & 1)                                                 \
      x = x * 3 + n;                                           \
    else                                                       \
      x ^= x >> (n % 31 + 1);                                  \
    if (x % 5 == n % 5) x += 0x1234567 * (n + 1ull);           \
    return x < 1000 ? x * 77 + n : x - n;                      \
  }
#define F10(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define F100(n) F10(n##0) F10(n##1) F10(n##2) F10(n##3) F10(n##4) F10(n##5) F10(n##6) F10(n##7) F10(n##8) F10(n##9)
#define F1000(n) \
  F100(n##0) F100(n##1) F100(n##2) F100(n##3) F100(n##4) F100(n##5) F100(n##6) F100(n##7) F100(n##8) F100(n##9)
F1000(1)
F1000(2) F1000(3)
#define P(n) f##n,
#define P10(n) P(n##0) P(n##1) P(n##2) P(n##3) P(n##4) P(n##5) P(n##6) P(n##7) P(n##8) P(n##9)
#define P100(n) P10(n##0) P10(n##1) P10(n##2) P10(n##3) P10(n##4) P10(n##5) P10(n##6) P10(n##7) P10(n##8) P10(n##9)
#define P1000(n) \
  P100(n##0) P100(n##1) P100(n##2) P100(n##3) P100(n##4) P100(n##5) P100(n##6) P100(n##7) P100(n##8) P100(n##9)
    static uint64_t (*const kAll[])(uint64_t) = {P1000(1) P1000(2) P1000(3)};

int main(void) {
  uint64_t x = 12345;
  for (unsigned round = 0; round < 12; ++round)
    for (unsigned i = 0; i < 3000; ++i) x = kAll[(i * 1009 + round) % 3000](x);
  printf("%016llx\n", (unsigned long long)x);
  return finish();
}
