// The program's own gs base: set by arch_prctl, used by operands, told back, kept over system calls.
#include <asm/prctl.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

int main(void) {
  static uint64_t area[32];
  uint64_t told = 1, value;
  CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &told) == 0);
  CHECK_EQUAL(told, 0);
  for (int i = 0; i < 32; ++i) area[i] = 100 + i;
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
  for (uint64_t i = 0; i < 32; ++i) {
    asm volatile("mov %%gs:(,%1,8), %0" : "=r"(value) : "r"(i));
    CHECK_EQUAL(value, 100 + i);
    getppid();
    asm volatile("lock addq %0, %%gs:(,%0,8)" : : "r"(i) : "memory", "cc");
  }
  asm volatile("mov %%gs:8, %0" : "=r"(value));
  CHECK_EQUAL(value, 102);
  asm volatile("movq $7, %%gs:16; pushq %%gs:16; popq %%gs:24" : : : "memory");
  CHECK(area[2] == 7 && area[3] == 7 && area[31] == 100 + 62);
  asm volatile("movups %%gs:32, %%xmm0; movups %%xmm0, %%gs:48" : : : "xmm0", "memory");
  CHECK(area[6] == area[4] && area[7] == area[5]);
  CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &told) == 0);
  CHECK_EQUAL(told, (uintptr_t)area);
  return finish();
}
