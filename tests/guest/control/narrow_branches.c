// Near branches with an operand-size prefix: of 16 bits on AMD's processors, as without the prefix on Intel's. What is printed is what
// this processor does.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static sigjmp_buf back;
static uint64_t fault_pc, fault_sp, fault_rcx, start_sp;
static uint16_t pushed;
static uint8_t* code;

static void handler(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  const ucontext_t* u = context;
  fault_pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
  fault_sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
  fault_rcx = (uint64_t)u->uc_mcontext.gregs[REG_RCX];
  memcpy(&pushed, (void*)(start_sp - 2), 2);
  siglongjmp(back, 1);
}

// Runs the bytes with these flags and rcx. Behind them lie one-byte instructions and a ret, so that any way on ends well or in a fault.
static void run(const char* name, const char* bytes, int size, uint64_t flags, uint64_t rcx, int stack_words) {
  memset(code, 0x90, 256);
  code[255] = 0xc3;
  memcpy(code, bytes, (size_t)size);
  const uint64_t target = (uint64_t)code + 128;
  if (sigsetjmp(back, 1) != 0) {
    printf("%s, flags %#llx: rip %s, rsp %+lld, pushed %#x, rcx %lld\n", name, (unsigned long long)flags,
           fault_pc == ((uint64_t)code & 0xffff) + 128         ? "target, 16 bits"
           : fault_pc == ((uint64_t)(code + size) & 0xffff)    ? "next, 16 bits"
           : fault_pc == ((uint64_t)(code + size - 2) & 0xffff) ? "next but 2, 16 bits"
                                                               : "elsewhere",
           (long long)(fault_sp - start_sp), fault_sp < start_sp ? (unsigned)(pushed - (uint16_t)(uint64_t)code) : 0, (long long)fault_rcx);
    return;
  }
  __asm__ volatile(
      "mov %%rsp, %%rbx\n sub $256, %%rsp\n and $-16, %%rsp\n"
      "test %[words], %[words]\n jz 1f\n push %[target]\n 1:\n"
      "lea 2f(%%rip), %%rdx\n push %%rdx\n"     // for the ret at the end, if it is reached straight
      "test %[words], %[words]\n jz 3f\n push %[target]\n 3:\n"
      "mov %%rsp, %[sp]\n mov %[target], %%rax\n"
      "push %[flags]\n popf\n jmp *%[code]\n 2: mov %%rbx, %%rsp\n"
      : [sp] "=m"(start_sp), "+c"(rcx)
      : [code] "r"(code), [target] "r"(target), [flags] "r"(flags), [words] "r"((uint64_t)stack_words)
      : "rax", "rbx", "rdx", "memory", "cc");
  printf("%s, flags %#llx: went on, rcx %lld\n", name, (unsigned long long)flags, (long long)rcx);
}

int main(void) {
  static char stack[1 << 16];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  code = mmap((void*)0x12340000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  CHECK(code != MAP_FAILED);
  code += 0x400;
  run("jmp rel8", "\x66\xeb\x7d", 3, 2, 0, 0);
  run("jmp rel", "\x66\xe9\x7c\x00\x90\x90", 6, 2, 0, 0);
  run("jmp rax", "\x66\xff\xe0", 3, 2, 0, 0);
  run("jmp [rsp]", "\x66\xff\x24\x24", 4, 2, 0, 1);
  run("call rel", "\x66\xe8\x7c\x00\x90\x90", 6, 2, 0, 0);
  run("call rax", "\x66\xff\xd0", 3, 2, 0, 0);
  run("ret", "\x66\xc3", 2, 2, 0, 1);
  run("ret 8", "\x66\xc2\x08\x00", 4, 2, 0, 1);
  static const uint64_t kFlags[] = {2, 3, 6, 0x42, 0x82, 0x802, 0x882, 0xc2, 0x8c7};
  for (int condition = 0; condition < 16; ++condition)
    for (unsigned k = 0; k < sizeof kFlags / sizeof *kFlags; ++k) {
      const char bytes[] = {0x66, (char)(0x70 + condition), 0x7d};
      char name[16];
      snprintf(name, sizeof name, "jcc %d", condition);
      run(name, bytes, 3, kFlags[k], 0, 0);
    }
  for (int kind = 0; kind < 4; ++kind)
    for (uint64_t rcx = 0; rcx < 3; ++rcx)
      for (uint64_t flags = 2; flags <= 0x42; flags += 0x40) {
        const char bytes[] = {0x66, (char)(0xe0 + kind), 0x7d};
        char name[16];
        snprintf(name, sizeof name, "loop %d", kind);
        run(name, bytes, 3, flags, rcx, 0);
      }
  run("loop, 32 bits", "\x67\x66\xe2\x7c", 4, 2, 0x100000001, 0);
  run("wide jmp rel", "\x66\x48\xe9\x79\x00\x00\x00", 7, 2, 0, 0);
  return finish();
}
