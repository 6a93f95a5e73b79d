// A leaf function keeps values in the 128 bytes below rsp across branches, indirect jumps, flags and memory operands.
// System V ABI 3.2.2.
#include "tests/guest/guest.h"

uint64_t leaf(uint64_t seed, uint64_t rounds);
asm(R"(
        .text
        .type leaf, @function
leaf:   mov     $16, %ecx
1:      imul    $0x5851f42d, %rdi, %rdi
        lea     (%rdi,%rcx), %rdi
        mov     %ecx, %eax
        neg     %rax
        mov     %rdi, (%rsp,%rax,8)       # rsp-8 .. rsp-128
        dec     %ecx
        jnz     1b
2:      lea     3f(%rip), %rax
        jmp     *%rax
3:      mov     -8(%rsp), %rax
        add     -128(%rsp), %rax
        jc      4f
        xor     -64(%rsp), %rax
4:      adcq    $7, -72(%rsp)
        rolq    $3, -128(%rsp)
        lea     5f(%rip), %rdx
        mov     %rdx, -40(%rsp)
        jmp     *-40(%rsp)
5:      xchg    %rax, -16(%rsp)
        add     %rax, -120(%rsp)
        mov     %rax, -40(%rsp)
        dec     %rsi
        jnz     2b
        mov     $16, %ecx
        xor     %eax, %eax
6:      neg     %rcx
        add     (%rsp,%rcx,8), %rax
        neg     %rcx
        rol     $5, %rax
        loop    6b
        ret
        .size leaf, .-leaf
)");

static uint64_t model(uint64_t seed, uint64_t rounds) {
  uint64_t z[17], sum = 0;
  for (int i = 16; i; --i) z[i] = seed = seed * 0x5851f42d + i;
  for (; rounds; --rounds) {
    uint64_t a = z[1];
    const int carry = a + z[16] < a;
    a += z[16];
    if (!carry) a ^= z[8];
    z[9] += 7 + carry;  // xor clears the carry
    z[16] = z[16] << 3 | z[16] >> 61;
    const uint64_t t = z[2];
    z[2] = a;
    z[15] += t;
    z[5] = t;
  }
  for (int i = 16; i; --i) {
    sum += z[i];
    sum = sum << 5 | sum >> 59;
  }
  return sum;
}

int main(void) {
  for (uint64_t i = 1; i < 300; ++i) CHECK_EQUAL(leaf(mix(i, i), i), model(mix(i, i), i));
  return finish();
}
