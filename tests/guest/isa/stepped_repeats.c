// Under the trap flag a string instruction traps behind each repetition, and a load of SS lets the next instruction come before the trap.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

extern char begin[], end[];
char bytes[64], others[64];
static char *page, *low;
static int steps, faults;

static void record(const char* what, const ucontext_t* u) {
  const uint64_t pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP], rdi = (uint64_t)u->uc_mcontext.gregs[REG_RDI];
  if (pc < (uint64_t)begin || pc > (uint64_t)end) return;
  const char* const base = rdi - (uint64_t)page <= 8192 ? page : rdi - (uint64_t)low <= 4096 ? low : rdi == 0 ? NULL : bytes;
  printf("%s +%llu, rcx %llx, rdi %lld, ZF %lld\n", what, (unsigned long long)(pc - (uint64_t)begin),
         (unsigned long long)u->uc_mcontext.gregs[REG_RCX], (long long)(rdi - (uint64_t)base),
         (long long)u->uc_mcontext.gregs[REG_EFL] >> 6 & 1);
}

static void on_trap(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  ++steps;
  record("step", context);
}

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  ++faults;
  CHECK(info->si_addr == page + 4096);
  record("fault", context);
  CHECK(mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE) == 0);
}

int main(void) {
  skip_unless(!is_intel(), "processor that keeps the flags of each repetition that is stepped, and traps behind both of two mov ss alike");
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);   // no call of write among the steps
  page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0);
  low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  CHECK(low != MAP_FAILED);
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  action.sa_sigaction = on_fault;
  sigaction(SIGSEGV, &action, NULL);
  strcpy(bytes, "aaaabaaaaa");
  strcpy(others, "aaaaaaaaaa");
  __asm__ volatile(
      "sub $256, %%rsp\n xor %%ecx, %%ecx\n xor %%edi, %%edi\n pushf\n orl $0x100, (%%rsp)\n popf\n begin:\n"
      "lea bytes(%%rip), %%rdi\n mov $3, %%ecx\n mov $'x', %%eax\n rep stosb\n"
      "xor %%ecx, %%ecx\n rep stosb\n mov $1, %%ecx\n rep stosb\n"
      "lea bytes(%%rip), %%rdi\n mov $10, %%ecx\n mov $'b', %%eax\n repne scasb\n"
      "lea bytes(%%rip), %%rdi\n lea others(%%rip), %%rsi\n mov $10, %%ecx\n repe cmpsb\n"
      "mov $4, %%ecx\n lea others(%%rip), %%rdi\n lea others+1(%%rip), %%rsi\n repe cmpsb\n"
      "lea bytes(%%rip), %%rdi\n lea others(%%rip), %%rsi\n mov $2, %%ecx\n rep movsb\n"
      "lea (%[low]), %%rdi\n lea 32(%[low]), %%rsi\n movabs $0x500000002, %%rcx\n addr32 rep movsb\n"
      "mov %%ss, %%eax\n mov %%eax, %%ss\n nop\n nop\n mov %%eax, %%ss\n mov %%eax, %%ss\n nop\n nop\n"
      "std\n mov $2, %%ecx\n lea bytes+8(%%rip), %%rdi\n rep stosw\n cld\n"
      "mov $6, %%ecx\n lea 4093(%[page]), %%rdi\n rep stosb\n"
      "rep nop\n rep lodsb\n"
      "pushf\n andl $~0x100, (%%rsp)\n popf\n end: add $256, %%rsp\n"
      :
      : [page] "r"(page), [low] "r"(low)
      : "rax", "rcx", "rdi", "rsi", "memory", "cc");
  printf("%d steps, %d faults, %s\n", steps, faults, bytes);
  CHECK_EQUAL(faults, 1);
  return finish();
}
