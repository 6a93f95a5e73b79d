// Operands with a gs: override in all their forms: their address is a sum that the translator makes (translate_operands.cpp, Translator::copy_with_sum).
#include <asm/prctl.h>
#include <setjmp.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static _Alignas(64) uint8_t area[4096];
static uint64_t at(int offset) {
  uint64_t value;
  memcpy(&value, area + offset, 8);
  return value;
}

static void sums(void) {
  register uint64_t base asm("r13") = 64, index asm("r12") = 8;
  asm volatile("movl $0x12345678, %%gs:-8(%0,%1,4)" : : "r"(base), "r"(index) : "memory");
  CHECK_EQUAL((uint32_t)at(88), 0x12345678);
  uint64_t value;
  asm volatile("mov %%gs:(%0), %0" : "=r"(value) : "0"(88ull) : "memory");
  CHECK_EQUAL((uint32_t)value, 0x12345678);
  asm volatile("mov %%gs:0(,%1,8), %0" : "=r"(value) : "r"(11ull) : "memory");
  CHECK_EQUAL((uint32_t)value, 0x12345678);
  // The sum is cut to 32 bits, then the base is added; REX.W before another prefix means nothing.
  asm volatile("mov %%gs:1(%%esi,%%edi,8), %0" : "=r"(value) : "S"(0xffffffff00000000ull | 7), "D"(10ull) : "memory");
  CHECK_EQUAL((uint32_t)value, 0x12345678);
  asm volatile(".byte 0x48, 0x65, 0x8b, 0x01" : "=a"(value) : "a"(~0ull), "c"(88ull) : "memory");
  CHECK_EQUAL(value, 0x12345678);
  asm volatile("addw $77, %%gs:(%0); addb $1, %%gs:(%0)" : : "r"(88ull) : "memory", "cc");
  CHECK_EQUAL((uint32_t)at(88), 0x12345678 + 77 + 1);
  asm volatile("imul $3, %%gs:(%1), %k0; shld $4, %k0, %%gs:(%1)" : "=&r"(value) : "r"(88ull) : "memory", "cc");
  const uint32_t sum = 0x12345678 + 77 + 1, tripled = 3 * sum;
  CHECK(value == tripled && (uint32_t)at(88) == (sum << 4 | tripled >> 28));
}

// Moves of rax from and to an absolute address, with a REX.R that means nothing there.
static void absolute(void) {
  uint64_t value = 1;
  register uint64_t other asm("r8") = 2;
  asm volatile(".byte 0x65, 0x4c, 0xa1; .quad 88" : "+a"(value), "+r"(other) : : "memory");
  CHECK(value == at(88) && other == 2);
  asm volatile(".byte 0x65, 0x4c, 0xa3; .quad 96" : : "a"(4711ull), "r"(other) : "memory");
  CHECK_EQUAL(at(96), 4711);
  asm volatile(".byte 0x64, 0x4c, 0xa1; .quad 0" : "+a"(value), "+r"(other) : : "memory");
  CHECK(value == (uintptr_t)__builtin_thread_pointer() && other == 2);
}

static uint64_t anchor = 4711;   // below `area`, which has no values of its own

static void relative_to_rip(void) {
  uint64_t value;
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, (uintptr_t)area + 88 - (uintptr_t)&anchor) == 0);
  asm volatile("mov %%gs:anchor(%%rip), %0; incq %%gs:anchor(%%rip)" : "=r"(value) : : "memory", "cc");
  CHECK(anchor == 4711 && at(88) == value + 1);
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
}

static void stack(void) {
  asm volatile("push %%rax; pushq %%gs:(%0); popq %%gs:8(%0); pop %%rax" : : "r"(200ull) : "memory");
  CHECK_EQUAL(at(208), at(200));
}

static void many_registers(void) {
  memcpy(area + 256, (uint64_t[]){1, 2}, 16);
  uint64_t low = 1, high = 2;
  uint8_t same;
  asm volatile("cmpxchg16b %%gs:(%%rsi,%%rdi)\n setz %2" : "+a"(low), "+d"(high), "=q"(same) : "b"(3ull), "c"(4ull), "S"(200ull), "D"(56ull) : "memory", "cc");
  CHECK(same && at(256) == 3 && at(264) == 4);
  asm volatile("cmpxchg8b %%gs:(%%rsi,%%rdi)\n setz %2" : "+a"(low), "+d"(high), "=q"(same) : "b"(5ull), "c"(6ull), "S"(200ull), "D"(56ull) : "memory", "cc");
  CHECK(!same && low == 3 && high == 0);
  // The bit's number moves the address.
  area[300] = 0;
  asm volatile("btsl %1, %%gs:(%0)" : : "r"(296ull), "r"(35) : "memory", "cc");
  CHECK_EQUAL(area[300], 8);
}

static void vectors(void) {
  for (int k = 0; k < 64; ++k) area[512 + k] = (uint8_t)(k * 3);
  register uint64_t base asm("r13") = 512 - 64;
  asm volatile("movups %%gs:64(%0), %%xmm9; movups %%xmm9, %%gs:256(%0)" : : "r"(base) : "xmm9", "memory");
  CHECK(memcmp(area + 512, area + 512 + 192, 16) == 0);
  if (__builtin_cpu_supports("avx2")) {
    asm volatile("vmovdqu %%gs:64(%0,%1,2), %%ymm10; vmovdqu %%ymm10, %%gs:256(%0)" : : "r"(base), "r"(8ull) : "xmm10", "memory");
    CHECK(memcmp(area + 528, area + 512 + 192, 32) == 0);
    asm volatile("vpcmpeqd %%ymm1, %%ymm1, %%ymm1; vpmaskmovd %%gs:64(%0), %%ymm1, %%ymm2; vmovdqu %%ymm2, %%gs:256(%0)" : : "r"(base) : "xmm1", "xmm2", "memory");
    CHECK(memcmp(area + 512, area + 512 + 192, 32) == 0);
  }
  if (__builtin_cpu_supports("avx512f")) {
    asm volatile("vmovdqu64 %%gs:64(%0), %%zmm17; vmovdqu64 %%zmm17, %%gs:256(%0)" : : "r"(base) : "memory");   // a register that the compiler does not use
    CHECK(memcmp(area + 512, area + 512 + 192, 64) == 0);
  }
}

// The same length as before, at most 15 bytes, whatever register takes the operand's place.
static void long_ones(void) {
  uint64_t low = 0, high = 0;
  uint8_t same;
  memset(area + 600, 0, 8);
  asm volatile("mov %%rbp, %%r8\n .byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x65, 0xf0, 0x0f, 0xc7, 0x0e\n setz %2"   // lock cmpxchg8b %gs:(%rsi)
               : "+a"(low), "+d"(high), "=q"(same) : "b"(7ull), "c"(0ull), "S"(600ull) : "r8", "memory", "cc");
  CHECK(same && at(600) == 7);
  asm volatile("movabs %%gs:600, %%rax" : "=a"(low) : : "memory");
  CHECK_EQUAL(low, 7);
  asm volatile("movabs %%al, %%gs:601" : : "a"(9ull) : "memory");
  CHECK_EQUAL(at(600), 0x907);
  // The second byte of a register, beside others in use.
  asm volatile("movabs $0x1122334455667788, %%rcx\n mov %%rbp, %%r8\n mov %%r9, %%r10\n cmpxchg %%ch, %%gs:(%%rbx,%%rdx)" : "+a"(low) : "b"(500ull), "d"(100ull) : "rcx", "r8", "r10", "memory", "cc");
  CHECK_EQUAL(at(600), 0x977);
}

static sigjmp_buf back;
static void caught(int number, siginfo_t* info, void* context) {
  const ucontext_t* const u = context;
  CHECK(number == SIGSEGV && info->si_addr == NULL && u->uc_mcontext.gregs[REG_TRAPNO] == 13 && u->uc_mcontext.gregs[REG_RSI] == 1ll << 47);
  CHECK(u->uc_mcontext.gregs[REG_RAX] == 1 && u->uc_mcontext.gregs[REG_RDX] == 2 && u->uc_mcontext.gregs[REG_RBX] == 3 && u->uc_mcontext.gregs[REG_RCX] == 4);
  siglongjmp(back, 1);
}

// Not a fault of the stack segment, whatever register takes the operand's place.
static void nowhere(void) {
  struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  if (sigsetjmp(back, 1) == 0) {
    asm volatile("mov %%rbp, %%r8\n cmpxchg16b %%gs:(%%rsi)" : : "a"(1ull), "d"(2ull), "b"(3ull), "c"(4ull), "S"(1ull << 47) : "r8", "memory", "cc");
    CHECK(!"it is there");
  }
}

// What only looks like rdfsbase and its kin.
static void constants(void) {
  uint32_t value, stored;
  asm volatile("mov $0xc5ae0ff3, %0\n movl $0xd0ae0ff3, %1" : "=r"(value), "=m"(stored));
  CHECK(value == 0xc5ae0ff3 && stored == 0xd0ae0ff3);
}

int main(void) {
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
  sums();
  absolute();
  relative_to_rip();
  stack();
  many_registers();
  vectors();
  long_ones();
  nowhere();
  constants();
  return finish();
}
