// loop, loope, loopne and jrcxz with an operand-size prefix and with f2 or f3 before or behind it: AMD's processors cut the target to 16
// bits, where nothing is mapped, and let f2 and f3 choose the sense; others jump as without them. What happens is printed and compared.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static uint64_t stack_pointer;
static char signal_stack[65536];
static volatile uint64_t stopped_at, left;
extern char back[];

static void on_stop(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  stopped_at = (uint64_t)registers[REG_RIP], left = (uint64_t)registers[REG_RCX];
  registers[REG_RIP] = (greg_t)back, registers[REG_RSP] = (greg_t)stack_pointer;
}

int main(void) {
  static const unsigned char prefixes[][4] = {{0},          {0xf2},       {0xf3},       {0x66},       {0x66, 0xf2}, {0x66, 0xf3},
                                              {0xf2, 0x66}, {0xf3, 0x66}, {0x66, 0xf2, 0xf3}, {0x66, 0xf3, 0xf2}, {0x66, 0xf2, 0x48}};
  static const unsigned char opcodes[] = {0xe0, 0xe1, 0xe2, 0xe3};
  unsigned char* const code = mmap((void*)0x20000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(code != MAP_FAILED);
  stack_t alternate = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  sigaltstack(&alternate, NULL);
  struct sigaction action = {.sa_sigaction = on_stop, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL), sigaction(SIGTRAP, &action, NULL);
  for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; ++k)
    for (size_t o = 0; o < sizeof opcodes; ++o)
      for (uint64_t zero = 0; zero <= 0x40; zero += 0x40)
        for (uint64_t count = 0; count < 3; ++count) {
          memset(code, 0xcc, 4096);
          size_t size = 0x200;
          for (const unsigned char* p = prefixes[k]; *p != 0; ++p) code[size++] = *p;
          code[size++] = opcodes[o], code[size++] = 0x10;
          asm volatile("push %%rbp; push %%rbx; sub $256, %%rsp; mov %%rsp, %0; push %2; popf; mov %3, %%rcx; jmp *%1\n"
                       ".globl back\nback: add $256, %%rsp; pop %%rbx; pop %%rbp"
                       : "=m"(stack_pointer) : "r"(code + 0x200), "r"(zero | 0x202), "r"(count) : "rcx", "memory", "cc");
          printf("%02x %02x %02x: %02x, zero %d, count %d: at %#lx, %#lx left\n", prefixes[k][0], prefixes[k][1], prefixes[k][2], opcodes[o],
                 zero != 0, (int)count, (unsigned long)stopped_at, (unsigned long)left);
        }
  return finish();
}
