// build: -O1
// All status flags and the direction flag live across every kind of transfer: direct, indirect, call, ret, loop, jrcxz,
// push/pop.
#include "tests/guest/guest.h"

#define ROUND_TRIP(path)                                                                                           \
  {                                                                                                                \
    uint64_t after;                                                                                                \
    asm volatile("lea -128(%%rsp), %%rsp; push %[flags]; popfq;" path                                              \
                 "pushfq; pop %[after]; cld; lea 128(%%rsp), %%rsp"                                                \
                 : [after] "=&r"(after) : [flags] "r"(flags) : "rax", "rbx", "rcx", "rdx", "r8", "cc", "memory");  \
    CHECK_EQUAL(after & 0xcd5, flags & 0xcd5);                                                                     \
  }

int main(void) {
  for (unsigned state = 0; state < 128 * 3; ++state) {
    const unsigned bits[7] = {1, 4, 0x10, 0x40, 0x80, 0x800, 0x400};
    uint64_t flags = 0x202;
    for (int i = 0; i < 7; ++i)
      if (state >> i & 1) flags |= bits[i];
    ROUND_TRIP("jmp 1f; ud2; 1:")
    ROUND_TRIP("lea 1f(%%rip), %%rax; jmp *%%rax; ud2; 1:")
    ROUND_TRIP("lea 1f(%%rip), %%rax; mov %%rax, -8(%%rsp); jmp *-8(%%rsp); ud2; 1:")
    ROUND_TRIP("jmp 2f; 1: mov $5, %%ebx; ret; 2: call 1b; mov %%ebx, %%ecx;")
    ROUND_TRIP("jmp 2f; 1: lea 1(%%rax), %%rbx; ret $8; 2: push %%rax; lea 1b(%%rip), %%rax; call *%%rax;")
    ROUND_TRIP("lea 1f(%%rip), %%rax; push %%rax; ret; ud2; 1:")
    ROUND_TRIP("mov $7, %%ecx; 1: lea 1(%%rbx), %%rbx; loop 1b;")
    ROUND_TRIP("mov $0, %%ecx; jrcxz 1f; ud2; 1: not %%ecx; jecxz 2f; jmp 3f; 2: ud2; 3:")
    ROUND_TRIP("jc 1f; jz 2f; jmp 3f; 1: js 2f; jmp 3f; 2: jo 3f; nop; 3:")
    ROUND_TRIP("lea 1f(%%rip), %%rdx; mov $1, %%eax; xchg %%rax, %%rdx; mov %%rax, %%r8; jmp *%%r8; ud2; 1:")
    ROUND_TRIP("cld; pushfq; popfq; push %[flags]; popfq; jmp 1f; ud2; 1:")
  }
  return finish();
}
