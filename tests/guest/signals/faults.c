// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP: the handler sees address, code and the registers of the faulting
// instruction; it may leave by siglongjmp, repair the cause and return, or step over the instruction by changing the
// saved context.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum Reaction { kJump, kRepair, kSkip };
static volatile enum Reaction reaction;
static volatile int calls, skip_bytes, seen_signal, seen_code;
static volatile uint64_t seen_address, seen_error, seen_rip, seen_rax, seen_r15, seen_flags;
static sigjmp_buf escape;
static uint8_t* page;

static void handler(int signal, siginfo_t* info, void* context) {
  greg_t* r = ((ucontext_t*)context)->uc_mcontext.gregs;
  ++calls;
  seen_signal = signal;
  seen_code = info->si_code;
  seen_address = (uintptr_t)info->si_addr;
  seen_error = r[REG_ERR];
  seen_rip = r[REG_RIP];
  seen_rax = r[REG_RAX];
  seen_r15 = r[REG_R15];
  seen_flags = r[REG_EFL];
  if (reaction == kJump) siglongjmp(escape, signal);
  if (reaction == kRepair) CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
  if (reaction == kSkip) {
    r[REG_RIP] += skip_bytes;
    r[REG_RAX] = 0xabcdef;
    r[REG_EFL] |= 1;
  }
}

static void jumps(void) {
  reaction = kJump;
  for (volatile int i = 0; i < 50; ++i) {
    if (sigsetjmp(escape, 1) == 0) {
      *(volatile int*)(uintptr_t)(16 + 4 * i) = 1;
      CHECK(0);
    }
    CHECK(seen_signal == SIGSEGV && seen_address == 16u + 4 * i && seen_code == SEGV_MAPERR);
  }
  if (sigsetjmp(escape, 1) == 0)
    asm volatile("xor %%ecx, %%ecx; mov $1, %%eax; cltd; idiv %%ecx" : : : "rax", "rcx", "rdx", "cc");
  CHECK(seen_signal == SIGFPE && seen_code == FPE_INTDIV && seen_address == seen_rip);
  if (sigsetjmp(escape, 1) == 0) __builtin_trap();
  CHECK(seen_signal == SIGILL && seen_code == ILL_ILLOPN && seen_address == seen_rip);
  if (sigsetjmp(escape, 1) == 0) asm volatile("int3");
  CHECK(seen_signal == SIGTRAP);
  if (sigsetjmp(escape, 1) == 0) ((void (*)(void))0x123456)();
  CHECK(seen_signal == SIGSEGV && seen_address == 0x123456 && seen_rip == 0x123456);
  if (sigsetjmp(escape, 1) == 0) ((void (*)(void))page)();
  CHECK(seen_signal == SIGSEGV && seen_rip == (uintptr_t)page && seen_code == SEGV_ACCERR);
  const uint64_t kernel = 0xffffffff81000000;
  if (sigsetjmp(escape, 1) == 0) ((void (*)(void))kernel)();
  CHECK(seen_signal == SIGSEGV && seen_code == SEGV_MAPERR && seen_address == kernel && seen_rip == kernel);
  CHECK_EQUAL(seen_error, 0x15);
  if (sigsetjmp(escape, 1) == 0) CHECK(*(volatile char*)kernel == 0);
  CHECK(seen_signal == SIGSEGV && seen_code == SEGV_MAPERR && seen_address == kernel);
  const uint64_t wild = 0x8000000000000000;
  if (sigsetjmp(escape, 1) == 0) CHECK(*(volatile char*)wild == 0);
  CHECK(seen_signal == SIGSEGV && seen_code == SI_KERNEL && seen_address == 0);
  if (sigsetjmp(escape, 1) == 0) asm volatile("hlt");
  CHECK(seen_signal == SIGSEGV && seen_code == SI_KERNEL);
}

static void repairs(void) {
  reaction = kRepair;
  for (int i = 0; i < 30; ++i) {
    CHECK(mprotect(page, 4096, PROT_NONE) == 0);
    calls = 0;
    uint64_t sum = 5, n = 8;
    const uint8_t* from = page + 40;
    *(volatile uint8_t*)page = 1;
    CHECK_EQUAL(calls, 1);
    CHECK(mprotect(page, 4096, PROT_NONE) == 0);
    uint8_t copy[8] = {0};
    uint8_t* to = copy;
    asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
    CHECK(calls == 2 && n == 0 && to == copy + 8);
    CHECK(mprotect(page, 4096, PROT_NONE) == 0);
    asm volatile("stc; adc %[memory], %[sum]; adc $0, %[sum]"
                 : [sum] "+r"(sum)
                 : [memory] "m"(*(uint64_t*)(page + 8))
                 : "cc");
    CHECK(calls == 3 && sum == 6);
  }
}

static void skips(void) {
  reaction = kSkip;
  for (int i = 0; i < 30; ++i) {
    uint64_t rax = 17, carried, where;
    skip_bytes = 3;
    asm volatile(
        "mov $0x1515, %%r15; lea 1f(%%rip), %[where]; test %%eax, %%eax; xor %%edx, %%edx;"
        "1: mov (%%rdx), %%rax; setc %b[carried]; movzbl %b[carried], %k[carried]"
        : "+a"(rax), [carried] "=&q"(carried), [where] "=&r"(where)
        :
        : "rdx", "r15", "cc", "memory");
    CHECK(rax == 0xabcdef && carried == 1);
    CHECK(seen_rip == where && seen_rax == 17 && seen_r15 == 0x1515 && seen_address == 0);
    CHECK_EQUAL(seen_flags & 0xc5, 0x44);  // of the xor: zero and parity
    skip_bytes = 2;
    asm volatile("stc; clc; ud2; mov %%eax, %%eax" : "+a"(rax) : : "cc");
    CHECK(rax == 0xabcdef && seen_signal == SIGILL);
  }
}

static void bus_error(void) {
  reaction = kJump;
  const int file = memfd_create("short", 0);
  uint8_t* p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  CHECK(p != MAP_FAILED);
  if (sigsetjmp(escape, 1) == 0) CHECK(p[5] == 1);
  CHECK(seen_signal == SIGBUS && seen_code == BUS_ADRERR && seen_address == (uintptr_t)p + 5);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
  for (int i = 0; i < 5; ++i) CHECK(sigaction(signals[i], &action, NULL) == 0);
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  jumps();
  puts("jumps"), fflush(stdout);
  repairs();
  puts("repairs"), fflush(stdout);
  skips();
  puts("skips"), fflush(stdout);
  bus_error();
  return finish();
}
