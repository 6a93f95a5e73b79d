// A handler that rewrites the saved context: it moves execution elsewhere, changes every general register, the flags,
// and a vector register.
#include <signal.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

uint64_t seen[16], flags_seen;
float vector_seen[4];
void landing(void);
asm(R"(
        .text
        .type landing, @function
landing:
        mov     %rax, seen(%rip)
        pushfq
        popq    flags_seen(%rip)
        mov     %rbx, 8+seen(%rip)
        mov     %rcx, 16+seen(%rip)
        mov     %rdx, 24+seen(%rip)
        mov     %rsi, 32+seen(%rip)
        mov     %rdi, 40+seen(%rip)
        mov     %rbp, 48+seen(%rip)
        mov     %r8, 56+seen(%rip)
        mov     %r9, 64+seen(%rip)
        mov     %r10, 72+seen(%rip)
        mov     %r11, 80+seen(%rip)
        mov     %r12, 88+seen(%rip)
        mov     %r13, 96+seen(%rip)
        mov     %r14, 104+seen(%rip)
        mov     %r15, 112+seen(%rip)
        movups  %xmm5, vector_seen(%rip)
        mov     kept_sp(%rip), %rsp
        mov     kept_bp(%rip), %rbp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbx
        ret
        .type depart, @function
depart: push    %rbx
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        mov     %rsp, kept_sp(%rip)
        mov     %rbp, kept_bp(%rip)
        mov     %edi, %eax
        ud2
        .local kept_sp, kept_bp
        .comm kept_sp, 8, 8
        .comm kept_bp, 8, 8
)");
void depart(void);

static const int kRegisters[15] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
                                   REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
static volatile int round_number;

static void handler(int signal, siginfo_t* info, void* raw) {
  (void)signal;
  (void)info;
  ucontext_t* context = raw;
  greg_t* r = context->uc_mcontext.gregs;
  for (int i = 0; i < 15; ++i) r[kRegisters[i]] = 0x1000 * (i + 1) + round_number;
  r[REG_RIP] = (uintptr_t)landing;
  r[REG_EFL] = (r[REG_EFL] & ~0x8d5) | (round_number & 1 ? 0x8c1 : 0x14);
  r[REG_RSP] -= 4096;
  const float values[4] = {1, 2, 3, (float)round_number};
  memcpy(&context->uc_mcontext.fpregs->_xmm[5], values, sizeof values);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGILL, &action, NULL) == 0);
  for (round_number = 0; round_number < 50; ++round_number) {
    depart();
    for (int i = 0; i < 15; ++i) CHECK_EQUAL(seen[i], 0x1000 * (i + 1) + round_number);
    CHECK_EQUAL(flags_seen & 0x8d5, round_number & 1 ? 0x8c1 : 0x14);
    CHECK(vector_seen[0] == 1 && vector_seen[3] == round_number);
  }
  return finish();
}
