// Operands with a gs: override whose address is not made beforehand: the base itself is the application's for them.
#include <asm/prctl.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static uint8_t area[256];

int main(void) {
  skip_unless(has_fsgsbase(), "FSGSBASE");   // there simrun ends the program, with a message
  for (int k = 0; k < 256; ++k) area[k] = (uint8_t)(k * 3);
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
  uint64_t value = 0, place = 65;
  asm volatile("lodsb %%gs:(%%rsi)" : "+a"(value), "+S"(place) : : "memory");
  CHECK_EQUAL(value, 195);
  asm volatile("xlatb %%gs:(%%rbx)" : "=a"(value) : "a"(3ull), "b"(65ull) : "memory");
  CHECK_EQUAL(value, 204);
  if (__builtin_cpu_supports("avx2")) {
    uint32_t lanes[4];
    asm volatile("vpcmpeqd %%xmm1, %%xmm1, %%xmm1; vpxor %%xmm2, %%xmm2, %%xmm2; vpgatherdd %%xmm1, %%gs:4(%2,%%xmm2,4), %%xmm3; vmovdqu %%xmm3, %0"
                 : "=m"(lanes) : "m"(area), "r"(60ull) : "xmm1", "xmm2", "xmm3", "memory");
    CHECK(lanes[0] == 0xc9c6c3c0 && lanes[3] == lanes[0]);
  }
  return finish();
}
