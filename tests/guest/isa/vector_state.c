// x87, MMX, SSE, AVX and AVX-512 registers, MXCSR and the x87 control word survive system calls, indirect transfers
// into code that was never run before, and many rounds of both.
#include <cpuid.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static uint8_t pattern[32 * 64], after[32 * 64];
static int has_avx, has_avx512;

// Many small functions, so that the first calls meet untranslated code while the registers are live.
#define F(n) \
  __attribute__((noinline, target("general-regs-only"))) static long f##n(long x) { return x * 3 + n; }
// clang-format off
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
// clang-format on
static long (*const kFunctions[16])(long) = {f0, f1, f2,  f3,  f4,  f5,  f6,  f7,
                                                       f8, f9, f10, f11, f12, f13, f14, f15};

#define DISTURB                                                                                        \
  "mov $39, %%eax; syscall; mov $16, %%ebx; mov %[functions], %%r12; 8: mov -8(%%r12,%%rbx,8), %%rax;" \
  "mov %%rbx, %%rdi; call *%%rax; dec %%ebx; jnz 8b; mov $24, %%eax; syscall;"
#define CLOBBERS "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "cc", "memory"

static void sse(void) {
  asm volatile(
      "lea -128(%%rsp), %%rsp; .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15; movups 16*\\n(%[in]), %%xmm\\n; "
      ".endr;" DISTURB
      ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15; movups %%xmm\\n, 16*\\n(%[out]); .endr; lea 128(%%rsp), %%rsp"
      :
      : [in] "r"(pattern), [out] "r"(after), [functions] "r"(kFunctions)
      : CLOBBERS, "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
  CHECK(memcmp(pattern, after, 16 * 16) == 0);
}

__attribute__((target("avx"))) static void avx(void) {
  asm volatile(
      "lea -128(%%rsp), %%rsp; .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15; vmovups 32*\\n(%[in]), %%ymm\\n; "
      ".endr;" DISTURB
      ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15; vmovups %%ymm\\n, 32*\\n(%[out]); .endr; vzeroupper; lea "
      "128(%%rsp), %%rsp"
      :
      : [in] "r"(pattern), [out] "r"(after), [functions] "r"(kFunctions)
      : CLOBBERS, "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
  CHECK(memcmp(pattern, after, 16 * 32) == 0);
}

#define ALL32 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
__attribute__((target("avx512f,avx512bw"))) static void avx512(void) {
  uint64_t masks[7];
  asm volatile("lea -128(%%rsp), %%rsp; .irp n," ALL32
               "; vmovups 64*\\n(%[in]), %%zmm\\n; .endr;"
               ".irp n,1,2,3,4,5,6,7; kmovq 8*\\n(%[in]), %%k\\n; .endr;" DISTURB ".irp n," ALL32
               "; vmovups %%zmm\\n, 64*\\n(%[out]); .endr;"
               ".irp n,1,2,3,4,5,6,7; kmovq %%k\\n, 8*\\n-8(%[masks]); .endr; vzeroupper; lea 128(%%rsp), %%rsp"
               :
               : [in] "r"(pattern), [out] "r"(after), [functions] "r"(kFunctions), [masks] "r"(masks)
               : CLOBBERS, "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                 "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21",
                 "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2",
                 "k3", "k4", "k5", "k6", "k7");
  CHECK(memcmp(pattern, after, 32 * 64) == 0);
  CHECK(memcmp(masks, pattern + 8, sizeof masks) == 0);
}

static void x87_and_mmx(void) {
  long double out[8];
  asm volatile("lea -128(%%rsp), %%rsp; fninit; fld1; fldpi; fldl2e; fldz; fldln2; fldl2t; fldlg2; fld1; fchs;" DISTURB
               ".irp n,0,1,2,3,4,5,6,7; fstpt 16*\\n(%[out]); .endr; lea 128(%%rsp), %%rsp"
               :
               : [out] "r"(out), [functions] "r"(kFunctions)
               : CLOBBERS, "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)");
  CHECK(out[0] == -1 && out[7] == 1 && out[6] == 3.14159265358979323851L && out[4] == 0 &&
        out[5] == 1.442695040888963407359L);
  uint64_t mm[8];
  asm volatile("lea -128(%%rsp), %%rsp; .irp n,0,1,2,3,4,5,6,7; movq 8*\\n(%[in]), %%mm\\n; .endr;" DISTURB
               ".irp n,0,1,2,3,4,5,6,7; movq %%mm\\n, 8*\\n(%[out]); .endr; emms; lea 128(%%rsp), %%rsp"
               :
               : [in] "r"(pattern), [out] "r"(mm), [functions] "r"(kFunctions)
               : CLOBBERS, "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7");
  CHECK(memcmp(mm, pattern, sizeof mm) == 0);
}

static void control_words(void) {
  // In memory reached by a register, because the stack pointer moves: MXCSR old, new (round toward zero, flush to
  // zero), seen; the control word at 12, new (round toward zero, extended precision) at 16, seen at 20.
  uint32_t words[6] = {0, 0xff80, 0, 0, 0x0f7f, 0};
  asm volatile("lea -128(%%rsp), %%rsp; stmxcsr (%[w]); fnstcw 12(%[w]); ldmxcsr 4(%[w]); fldcw 16(%[w]);" DISTURB
               "stmxcsr 8(%[w]); fnstcw 20(%[w]); ldmxcsr (%[w]); fldcw 12(%[w]); lea 128(%%rsp), %%rsp"
               :
               : [w] "r"(words), [functions] "r"(kFunctions)
               : CLOBBERS);
  CHECK_EQUAL(words[2], 0xff80);
  CHECK_EQUAL(words[5], 0x0f7f);
  CHECK_EQUAL(words[0] & 0xff80, 0x1f80);
  CHECK_EQUAL(words[3], 0x037f);
}

int main(void) {
  unsigned a, b = 0, c, d, low = 0, high;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c >> 27 & 1)) {
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    has_avx = (c >> 28 & 1) && (low & 6) == 6;
  }
  if (has_avx && __get_cpuid_count(7, 0, &a, &b, &c, &d))
    has_avx512 = (b >> 16 & 1) && (b >> 30 & 1) && (low & 0xe0) == 0xe0;
  uint64_t seed = 1;
  for (unsigned i = 0; i < sizeof pattern; ++i) pattern[i] = (seed = mix(seed, i)) >> 40;
  for (int round = 0; round < 50; ++round) {
    sse();
    x87_and_mmx();
    control_words();
    if (has_avx) avx();
    if (has_avx512) avx512();
  }
  return finish();
}
