// Code that was run before and that the program could change is no longer there, since its file has become shorter: SIGBUS where the code
// ends, with the registers and flags of that place.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kFlags = 0x8d5 };

static sigjmp_buf back;
static gregset_t seen;
static void* volatile seen_address;

static void handler(int number, siginfo_t* info, void* context) {
  CHECK(number == SIGBUS && info->si_code == BUS_ADRERR);
  memcpy(seen, ((ucontext_t*)context)->uc_mcontext.gregs, sizeof seen);
  seen_address = info->si_addr;
  siglongjmp(back, 1);
}

// 0: SIGBUS
static int64_t call(void* code) {
  if (sigsetjmp(back, 1) != 0) return 0;
  int64_t rdx;
  __asm__ volatile(
      "movabs $0x0fedcba987654321, %%r11\n\tmovabs $0x0123456789abcdef, %%rcx\n\tmovabs $0x1122334455667788, %%rax\n\t"
      "xor %%edx, %%edx\n\tmov %%edx, %%r8d\n\tmov %%r11, %%rbp\n\tmov %%rcx, %%r15\n\tcmp $-1, %%r8\n\tcall *%%rsi"
      : "=d"(rdx)
      : "S"(code)
      : "rax", "rcx", "rdi", "r8", "r9", "r10", "r11", "r15", "rbp", "memory", "cc");
  return rdx;
}

static void check_registers(const void* pc) {
  CHECK(seen[REG_RIP] == (greg_t)pc && seen[REG_RSI] != 0);
  CHECK_EQUAL(seen[REG_RAX], 0x1122334455667788);
  CHECK_EQUAL(seen[REG_RCX], 0x0123456789abcdef);
  CHECK_EQUAL(seen[REG_R11], 0x0fedcba987654321);
  CHECK_EQUAL(seen[REG_R15], seen[REG_RCX]);
  CHECK_EQUAL(seen[REG_RBP], seen[REG_R11]);
}

int main(void) {
  static const uint8_t kCode[] = {0x48, 0x89, 0xc2, 0xc3};                        // mov rdx, rax; ret
  static const uint8_t kReadsFlags[] = {0x0f, 0x92, 0xc2, 0x48, 0xff, 0xc2, 0xc3};   // setb dl; inc rdx; ret
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = handler;
  CHECK(sigaction(SIGBUS, &action, NULL) == 0);
  for (int round = 0; round < 3; ++round) {
    const int file = memfd_create("code", 0);
    CHECK(file >= 0 && ftruncate(file, 2 * kPage) == 0);
    uint8_t* code = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, file, 0);
    CHECK(code != MAP_FAILED);
    uint8_t* moves = code + kPage + 32;
    uint8_t* reads_flags = code + kPage + 64;
    uint8_t* across = code + kPage - 3;        // its first instruction is in the page that stays
    memcpy(moves, kCode, sizeof kCode);
    memcpy(reads_flags, kReadsFlags, sizeof kReadsFlags);
    memcpy(across, kCode, sizeof kCode);
    memcpy(code, kCode, sizeof kCode);
    for (int i = 0; i < 3; ++i) {
      CHECK_EQUAL(call(moves), 0x1122334455667788);
      CHECK_EQUAL(call(reads_flags), 2);
      CHECK_EQUAL(call(across), 0x1122334455667788);
    }
    CHECK(ftruncate(file, kPage) == 0);
    for (int i = 0; i < 3; ++i) {
      CHECK(call(reads_flags) == 0 && seen_address == reads_flags);
      check_registers(reads_flags);
      CHECK_EQUAL(seen[REG_EFL] & kFlags, 0x11);   // of comparing 0 with -1: carry and auxiliary carry
      CHECK(call(moves) == 0 && seen_address == moves);
      check_registers(moves);
      CHECK(call(across) == 0 && seen_address == code + kPage);
      check_registers(code + kPage);
      CHECK_EQUAL(seen[REG_RDX], 0x1122334455667788);
      CHECK_EQUAL(call(code), 0x1122334455667788);
    }
    CHECK(ftruncate(file, 2 * kPage) == 0);   // again there, as zeros
    memcpy(moves, kReadsFlags, sizeof kReadsFlags);
    CHECK_EQUAL(call(moves), 2);
    CHECK(munmap(code, 2 * kPage) == 0 && close(file) == 0);
  }
  return finish();
}
