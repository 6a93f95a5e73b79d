// Writes to al, ah, ax keep the other bits, writes to eax clear the upper half; for every register that has such parts.
#include "tests/guest/guest.h"

static const uint64_t kStart = 0x1122334455667788;

#define WIDTHS(r64, r32, r16, r8)                                                                                \
  {                                                                                                              \
    uint64_t v;                                                                                                  \
    asm volatile("mov %1, %%" r64 "; jmp 1f; 1: movb $0xaa, %%" r8 "; jmp 2f; 2: mov %%" r64 ", %0"              \
                 : "=m"(v)                                                                                       \
                 : "m"(kStart)                                                                                   \
                 : r64);                                                                                         \
    CHECK_EQUAL(v, 0x11223344556677aa);                                                                          \
    asm volatile("mov %1, %%" r64 "; jmp 1f; 1: movw $0xaabb, %%" r16 "; jmp 2f; 2: mov %%" r64 ", %0"           \
                 : "=m"(v)                                                                                       \
                 : "m"(kStart)                                                                                   \
                 : r64);                                                                                         \
    CHECK_EQUAL(v, 0x112233445566aabb);                                                                          \
    asm volatile("mov %1, %%" r64 "; jmp 1f; 1: movl $0xaabbccdd, %%" r32 "; jmp 2f; 2: mov %%" r64 ", %0"       \
                 : "=m"(v)                                                                                       \
                 : "m"(kStart)                                                                                   \
                 : r64);                                                                                         \
    CHECK_EQUAL(v, 0xaabbccdd);                                                                                  \
    asm volatile("mov %1, %%" r64 "; incb %%" r8 "; jnz 1f; 1: setz %%" r8 "; negw %%" r16 "; mov %%" r64 ", %0" \
                 : "=m"(v)                                                                                       \
                 : "m"(kStart)                                                                                   \
                 : r64, "cc");                                                                                   \
    CHECK_EQUAL(v, 0x1122334455668900);                                                                          \
  }

#define HIGH_BYTE(r64, high, low)                                                                                      \
  {                                                                                                                    \
    uint64_t v;                                                                                                        \
    asm volatile("mov %1, %%" r64 "; jmp 1f; 1: movb $0xaa, %%" high "; jmp 2f; 2: mov %%" r64 ", %0"                  \
                 : "=m"(v)                                                                                             \
                 : "m"(kStart)                                                                                         \
                 : r64);                                                                                               \
    CHECK_EQUAL(v, 0x112233445566aa88);                                                                                \
    asm volatile("mov %1, %%" r64 "; xchg %%" high ", %%" low "; jmp 1f; 1: addb %%" high ", %%" low "; mov %%" r64    \
                 ", %0"                                                                                                \
                 : "=m"(v)                                                                                             \
                 : "m"(kStart)                                                                                         \
                 : r64, "cc");                                                                                         \
    CHECK_EQUAL(v, 0x11223344556688ff);                                                                                \
    asm volatile("mov %1, %%" r64 "; rolb $4, %%" high "; cmpb $0x77, %%" high "; sete %%" low "; mov %%" r64 ", %0"   \
                 : "=m"(v)                                                                                             \
                 : "m"(kStart)                                                                                         \
                 : r64, "cc");                                                                                         \
    CHECK_EQUAL(v, 0x1122334455667701);                                                                                \
    uint8_t memory[4] = {0x55, 0x66, 0x77, 0x88};                                                                      \
    asm volatile("mov %2, %%" r64 "; movb (%1), %%" high "; movb %%" high ", 1(%1); addb %%" low ", 2(%1); mov %%" r64 \
                 ", %0"                                                                                                \
                 : "=m"(v)                                                                                             \
                 : "S"(memory), "m"(kStart)                                                                            \
                 : r64, "cc", "memory");                                                                               \
    CHECK_EQUAL(v, 0x1122334455665588);                                                                                \
    CHECK(memory[1] == 0x55 && memory[2] == 0xff);                                                                     \
  }

int main(void) {
  WIDTHS("rax", "eax", "ax", "al")
  WIDTHS("rbx", "ebx", "bx", "bl") WIDTHS("rcx", "ecx", "cx", "cl") WIDTHS("rdx", "edx", "dx", "dl")
      WIDTHS("rsi", "esi", "si", "sil") WIDTHS("rdi", "edi", "di", "dil") WIDTHS("r8", "r8d", "r8w", "r8b")
          WIDTHS("r9", "r9d", "r9w", "r9b") WIDTHS("r10", "r10d", "r10w", "r10b") WIDTHS("r11", "r11d", "r11w", "r11b")
              WIDTHS("r12", "r12d", "r12w", "r12b") WIDTHS("r13", "r13d", "r13w", "r13b")
                  WIDTHS("r14", "r14d", "r14w", "r14b") WIDTHS("r15", "r15d", "r15w", "r15b")
                      HIGH_BYTE("rax", "ah", "al") HIGH_BYTE("rbx", "bh", "bl") HIGH_BYTE("rcx", "ch", "cl")
                          HIGH_BYTE("rdx", "dh", "dl")
      // lahf and sahf: flags through ah.
      uint64_t v;
  asm volatile("mov %1, %%rax; movb $0xd5, %%ah; sahf; jc 1f; ud2; 1: movb $0, %%ah; jz 2f; ud2; 2: lahf; mov %%rax, %0"
               : "=m"(v)
               : "m"(kStart)
               : "rax", "cc");
  CHECK_EQUAL(v, 0x112233445566d788);
  return finish();
}
