// Calls and jumps through every register and memory form, those that use rsp, rcx and r11 among them.
#include "tests/guest/guest.h"

uint64_t counted;
void bump(void);
asm(".text; .type bump, @function; bump: incq counted(%rip); ret; .size bump, .-bump");
void* table[64];

#define BY_REGISTER(r)                                                                                              \
  asm volatile("lea -136(%%rsp), %%rsp; lea bump(%%rip), %%" r "; call *%%" r "; lea 1f(%%rip), %%" r "; jmp *%%" r \
               "; ud2; 1: lea 136(%%rsp), %%rsp"                                                                    \
               :                                                                                                    \
               :                                                                                                    \
               : r, "cc", "memory");                                                                                \
  ++expected;

#define BY_MEMORY(r)                                                                                                \
  asm volatile("lea -136(%%rsp), %%rsp; lea table(%%rip), %%" r "; call *(%%" r "); call *8(%%" r                   \
               ");"                                                                                                 \
               "call *0x100(%%" r "); lea 1f(%%rip), %%" r "; mov %%" r ", 64+table(%%rip); lea table(%%rip), %%" r \
               "; jmp *64(%%" r "); ud2; 1: lea 136(%%rsp), %%rsp"                                                  \
               :                                                                                                    \
               :                                                                                                    \
               : r, "cc", "memory");                                                                                \
  expected += 3;

#define BY_INDEX(r)                                                                                  \
  asm volatile("lea -136(%%rsp), %%rsp; mov $2, %%" r "; lea table(%%rip), %%rax; call *(%%rax,%%" r \
               ",8);"                                                                                \
               "call *-16(%%rax,%%" r ",8); xchg %%rax, %%" r "; call *8(%%" r                       \
               ",%%rax,4);"                                                                          \
               "lea 136(%%rsp), %%rsp"                                                               \
               :                                                                                     \
               :                                                                                     \
               : "rax", r, "cc", "memory");                                                          \
  expected += 3;

#define REGISTERS(M) \
  M("rbx") M("rcx") M("rdx") M("rsi") M("rdi") M("r8") M("r9") M("r10") M("r11") M("r12") M("r13") M("r14") M("r15")

static uint64_t through_stack(void) {
  uint64_t result;
  asm volatile(
      "lea -136(%%rsp), %%rsp; lea bump(%%rip), %%rax; push %%rax; call *(%%rsp); pop %%rcx;"  // the call's own push
                                                                                               // comes after the read
      "push %%rax; push $1; call *8(%%rsp); mov $1, %%ecx; call *(%%rsp,%%rcx,8); pop %%rcx; pop %%rcx;"
      "push %%rbp; mov %%rsp, %%rbp; push %%rax; call *-8(%%rbp); leave;"
      "lea 1f(%%rip), %%rax; push %%rax; jmp *(%%rsp); ud2; 1: pop %%rcx;"
      "push %%rcx; lea 2f(%%rip), %%rax; mov %%rax, (%%rsp); xor %%eax, %%eax; jmp *(%%rsp,%%rax,2); ud2; 2: pop %%rcx;"
      "mov %%rsp, %[result]; lea 3f(%%rip), %%rcx; push %%rcx; mov %%rsp, %%rcx; xchg %%rsp, %%rcx; jmp *(%%rsp); ud2; "
      "3: pop %%rcx;"
      "sub %%rsp, %[result]; lea 136(%%rsp), %%rsp"
      : [result] "=&r"(result)
      :
      : "rax", "rcx", "cc", "memory");
  return result;
}

// A REX before another prefix means nothing; nine prefixes make 15 bytes.
static uint64_t with_prefixes(void) {
  static void* wrong[4];
  uint64_t result;
  asm volatile(
      "lea -136(%%rsp), %%rsp; lea 1f(%%rip), %%rax; mov %%rax, 8(%[right]); lea 9f(%%rip), %%rax; mov %%rax, 8(%[wrong]);"
      "mov %[right], %%rsi; mov %[wrong], %%r14; mov $1, %[result];"
      ".byte 0x4d, 0x26, 0xff, 0x66, 0x08; ud2;"                    // jmp *8(%%rsi)
      "1: lea 2f(%%rip), %%rsi; lea 9f(%%rip), %%r14; .byte 0x4d, 0x3e, 0xff, 0xe6; ud2;"   // jmp *%%rsi
      "2: lea bump(%%rip), %%rsi; .byte 0x4d, 0x2e, 0xff, 0xd6;"    // call *%%rsi
      ".rept 9; .byte 0x26; .endr; .byte 0xff, 0x15; .long table - 3f; 3:"
      ".rept 9; .byte 0x36; .endr; .byte 0xff, 0x15; .long table - 4f; 4:"
      "lea table - 0x11223344(%%rip), %%rsi; .rept 8; .byte 0x26; .endr; .byte 0xff, 0x94, 0x26; .long 0x11223344;"  // call *0x11223344(%%rsi)
      "xor %[result], %[result]; 9: lea 136(%%rsp), %%rsp"
      : [result] "=&r"(result)
      : [right] "r"(&table[60]), [wrong] "r"(wrong)
      : "rax", "rcx", "rsi", "r14", "cc", "memory");
  return result;
}

int main(void) {
  uint64_t expected = 0;
  for (int i = 0; i < 64; ++i) table[i] = (void*)bump;
  for (int round = 0; round < 100; ++round) {
    REGISTERS(BY_REGISTER)
    BY_REGISTER("rax") REGISTERS(BY_MEMORY) BY_MEMORY("rax") REGISTERS(BY_INDEX) CHECK_EQUAL(through_stack(), 0);
    expected += 4;
    CHECK_EQUAL(with_prefixes(), 0);
    table[61] = (void*)bump;
    expected += 4;
    CHECK_EQUAL(counted, expected);
  }
  return finish();
}
