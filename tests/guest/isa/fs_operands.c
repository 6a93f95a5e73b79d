// Thread-local storage through fs: every addressing form, read-modify-write, and the base moved by arch_prctl.
#include <asm/prctl.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static __thread uint64_t counter = 5;
static __thread uint64_t table[16];

int main(void) {
  uint64_t base, value, offset = (char*)&counter - (char*)__builtin_thread_pointer();
  asm volatile("mov %%fs:0, %0" : "=r"(base));
  CHECK_EQUAL(base, (uintptr_t)__builtin_thread_pointer());
  for (int i = 0; i < 1000; ++i) {
    ++counter;
    table[i % 16] += counter;
  }
  CHECK_EQUAL(counter, 1005);
  asm volatile("mov %%fs:(%1), %0" : "=r"(value) : "r"(offset));
  CHECK_EQUAL(value, 1005);
  asm volatile("lock addq $5, %%fs:(%0); lock xaddq %1, %%fs:(%0)" : : "r"(offset), "r"(1ull) : "memory");
  CHECK_EQUAL(counter, 1011);
  const uint64_t before = (char*)table - (char*)__builtin_thread_pointer();
  asm volatile("mov %%fs:24(%1,%2,8), %0" : "=r"(value) : "r"(before), "r"(4ull));
  CHECK_EQUAL(value, table[7]);
  asm volatile("mov $3, %%eax; movq $9, %%fs:16(%0,%%rax,8); cmpq $9, %%fs:40(%0); jne 1f; jmp 2f; 1: ud2; 2:"
               :
               : "r"(before)
               : "rax", "cc", "memory");
  CHECK_EQUAL(table[5], 9);
  asm volatile("pushq %%fs:(%0); popq %%fs:8(%0)" : : "r"(before) : "memory");
  CHECK_EQUAL(table[1], table[0]);

  // No C library in between: its canary lives behind fs.
  uint64_t other[4] = {0x1234, 2, 3, 4}, seen;
  asm volatile(
      "mov %[set], %%edi; mov %[other], %%rsi; mov %[number], %%eax; syscall; mov %%fs:0, %%rbx; incq %%fs:8; jmp 1f; "
      "1:"
      "mov %[set], %%edi; mov %[base], %%rsi; mov %[number], %%eax; syscall; mov %%rbx, %[seen]"
      : [seen] "=&r"(seen)
      : [set] "i"(ARCH_SET_FS), [other] "r"(other), [number] "i"(SYS_arch_prctl), [base] "r"(base)
      : "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "r11", "cc", "memory");
  CHECK_EQUAL(seen, 0x1234);
  CHECK_EQUAL(other[1], 3);
  uint64_t told = 0;
  CHECK(syscall(SYS_arch_prctl, ARCH_GET_FS, &told) == 0);
  CHECK_EQUAL(told, base);
  return finish();
}
