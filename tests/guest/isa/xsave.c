// xsave, xsavec, xsaveopt, xrstor, fxsave, fxrstor by the program itself; the image it gets is its own state, also of
// components in their initial state.
#include <cpuid.h>

#include "tests/guest/guest.h"

static uint8_t area[16384] __attribute__((aligned(64))), other[16384] __attribute__((aligned(64)));

int main(void) {
  unsigned a, b, c = 0, d, low, high;
  skip_unless(__get_cpuid(1, &a, &b, &c, &d) && (c >> 27 & 1), "xsave");
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  __cpuid_count(13, 0, a, b, c, d);
  CHECK(b <= sizeof area);
  for (uint64_t i = 0; i < 200; ++i) {
    uint64_t out = 0, again = 0;
    asm volatile("movq %[i], %%xmm3; xsave (%[area]); pxor %%xmm3, %%xmm3; xrstor (%[area]); movq %%xmm3, %[out]"
                 : [out] "=&r"(out)
                 : [i] "r"(i * 77), [area] "r"(area), "a"(low), "d"(high)
                 : "xmm3", "memory");
    CHECK_EQUAL(out, i * 77);
    memcpy(&out, area + 160 + 3 * 16, 8);
    CHECK_EQUAL(out, i * 77);
    asm volatile("movq %[i], %%xmm7; fxsave (%[other]); pxor %%xmm7, %%xmm7; fxrstor (%[other]); movq %%xmm7, %[out]"
                 : [out] "=&r"(out)
                 : [i] "r"(i * 79), [other] "r"(other)
                 : "xmm7", "memory");
    CHECK_EQUAL(out, i * 79);
    memcpy(&again, other + 160 + 7 * 16, 8);
    CHECK_EQUAL(again, i * 79);
  }
  __cpuid_count(13, 1, a, b, c, d);
  if (a & 2) {  // xsavec
    memset(area, 0, sizeof area);
    asm volatile(
        "pcmpeqd %%xmm1, %%xmm1; xsavec (%[area]); pxor %%xmm1, %%xmm1; xrstor (%[area]); pmovmskb %%xmm1, %%eax"
        : "+a"(low)
        : [area] "r"(area), "d"(high)
        : "xmm1", "memory");
    CHECK_EQUAL(low, 0xffff);
  }
  if ((a & 4) &&
      __builtin_cpu_supports("avx")) {  // xgetbv(1): components in use; vzeroupper leaves none of the upper halves
    unsigned used, rest;
    asm volatile("vzeroall; xgetbv"
                 : "=a"(used), "=d"(rest)
                 : "c"(1)
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                   "xmm12", "xmm13", "xmm14", "xmm15");
    printf("AVX upper halves in use after vzeroall: %u\n", used >> 2 & 1);
  }
  return finish();
}
