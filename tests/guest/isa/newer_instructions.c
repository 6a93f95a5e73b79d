// Instructions that few processors have yet, as bytes, for assemblers may not know them either: they do what they do natively, or are a SIGILL
// where they stand.
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static sigjmp_buf back;
static const unsigned char *volatile at, *volatile beginning;
static unsigned char memory[64] __attribute__((aligned(64)));

static void handler(int number, siginfo_t* info, void* context) {
  (void)info;
  at = (const unsigned char*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  siglongjmp(back, number);
}

// rdi: the memory; rax and rcx: numbers; ymm1 to ymm3: filled from it.
#define TRY(name, ...)                                                                                                                   \
  do {                                                                                                                                   \
    unsigned long rax = 5, rcx = 9;                                                                                                      \
    unsigned char vector[32];                                                                                                            \
    for (int k = 0; k < 64; ++k) memory[k] = (unsigned char)(k * 37 + 11);                                                               \
    const int number = sigsetjmp(back, 1);                                                                                               \
    if (number == 0) {                                                                                                                   \
      __asm__ volatile("lea 1f(%%rip), %%rdx\n mov %%rdx, %3\n"                                                                          \
                       "vmovdqu (%4), %%ymm1\n vmovdqu 32(%4), %%ymm2\n vmovdqu 16(%4), %%ymm3\n"                                        \
                       "1: .byte " #__VA_ARGS__ "\n vmovdqu %%ymm1, %2\n vzeroupper"                                                     \
                       : "+a"(rax), "+c"(rcx), "=m"(vector), "=m"(beginning)                                                             \
                       : "D"(memory)                                                                                                     \
                       : "rdx", "memory", "cc", "xmm1", "xmm2", "xmm3");                                                                 \
      unsigned long sum = rax * 3 + rcx * 5;                                                                                             \
      for (int k = 0; k < 32; ++k) sum = sum * 131 + vector[k];                                                                          \
      for (int k = 0; k < 64; ++k) sum = sum * 131 + memory[k];                                                                          \
      printf("%s: %lx\n", name, sum);                                                                                                    \
    } else {                                                                                                                             \
      printf("%s: signal %d at byte %d\n", name, number, (int)(at - beginning));                                                         \
    }                                                                                                                                    \
  } while (0)

int main(void) {
  if (!__builtin_cpu_supports("avx2")) {
    printf("SKIPPED: no AVX2\n");
    return 0;
  }
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, NULL);
  TRY("vpmadd52luq ymm1, ymm2, [rdi+8]", 0xc4, 0xe2, 0xed, 0xb4, 0x4f, 0x08);
  TRY("vpdpbssd ymm1, ymm2, [rdi]", 0xc4, 0xe2, 0x6f, 0x50, 0x0f);
  TRY("vpdpwsud ymm1, ymm2, [rdi]", 0xc4, 0xe2, 0x6e, 0xd2, 0x0f);
  TRY("vbcstnesh2ps ymm1, [rdi]", 0xc4, 0xe2, 0x7d, 0xb1, 0x0f);
  TRY("vcvtneobf162ps ymm1, [rdi]", 0xc4, 0xe2, 0x7f, 0xb0, 0x0f);
  TRY("vcvtneps2bf16 xmm1, ymm2", 0xc4, 0xe2, 0x7e, 0x72, 0xca);
  TRY("vsha512rnds2 ymm1, ymm2, xmm3", 0xc4, 0xe2, 0x6f, 0xcb, 0xcb);
  TRY("vsm3rnds2 xmm1, xmm2, [rdi], 7", 0xc4, 0xe3, 0x69, 0xde, 0x0f, 0x07);
  TRY("vsm4rnds4 xmm1, xmm2, [rdi]", 0xc4, 0xe2, 0x6b, 0xda, 0x0f);
  TRY("cmpbexadd [rdi], eax, ecx", 0xc4, 0xe2, 0x71, 0xe6, 0x07);
  TRY("cmpnzxadd [rdi+16], rax, rcx", 0xc4, 0xe2, 0xf1, 0xe5, 0x47, 0x10);
  TRY("cmpnzxadd eax, eax, ecx: no such one", 0xc4, 0xe2, 0x71, 0xe5, 0xc0);
  TRY("tcmmimfp16ps tmm1, tmm2, tmm3", 0xc4, 0xe2, 0x61, 0x6c, 0xca);
  TRY("tdpfp16ps tmm1, tmm2, tmm3", 0xc4, 0xe2, 0x63, 0x5c, 0xca);
  return finish();
}
