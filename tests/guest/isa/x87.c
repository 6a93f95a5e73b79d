// build: -O2 -mfpmath=387 -lm
// x87: long double arithmetic, status word through fnstsw and fcomi, environment saved and restored.
#include <math.h>

#include "tests/guest/guest.h"

int main(void) {
  long double x = 1, sum = 0;
  for (int i = 1; i < 3000; ++i) {
    x = sqrtl(x + i) * 1.0001L;
    sum += sinl(x) + (x > i ? 1 : -1);
  }
  printf("%.15Lg\n", sum);
  uint16_t status;
  const double values[4] = {1.0, 2.0, -1.0, NAN};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      uint8_t below, equal, unordered;
      asm volatile(
          "fldl %[b]; fldl %[a]; fcomi %%st(1), %%st; setb %[below]; sete %[equal]; setp %[unordered]; fucompp; fnstsw "
          "%%ax"
          : [below] "=&q"(below), [equal] "=&q"(equal), [unordered] "=&q"(unordered), "=&a"(status)
          : [a] "m"(values[i]), [b] "m"(values[j])
          : "cc");
      CHECK_EQUAL(unordered, isunordered(values[i], values[j]));
      if (!unordered) CHECK(below == (values[i] < values[j]) && equal == (values[i] == values[j]));
      CHECK_EQUAL(!!(status & 0x400), unordered);
    }
  uint8_t environment[108];
  double after[2];
  asm volatile("fldl %[a]; fldl %[b]; fnsave (%[area]); fld1; frstor (%[area]); fstpl %[x]; fstpl %[y]"
               : [x] "=m"(after[0]), [y] "=m"(after[1])
               : [a] "m"(values[0]), [b] "m"(values[1]), [area] "r"(environment)
               : "memory");
  CHECK(after[0] == 2 && after[1] == 1);
  uint16_t tags;
  memcpy(&tags, environment + 8, 2);
  CHECK_EQUAL(tags, 0x0fff);
  int64_t whole;
  asm volatile("fldl %[a]; fisttpll %[whole]" : [whole] "=m"(whole) : [a] "m"((double){-7.75}));
  CHECK(whole == -7);
  uint8_t decimal[10];
  asm volatile("fildll %[a]; fbstp %[d]" : [d] "=m"(decimal) : [a] "m"((int64_t){123456789}));
  CHECK(decimal[0] == 0x89 && decimal[4] == 0x01 && decimal[9] == 0);
  return finish();
}
