// An AMX tile whose rows lie on pages that a handler brings one by one: the load and the store go on with the row that faulted, which the frame
// says. Skipped where there are no tiles.
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kRows = 16, kReady = 3 };

static const struct {
  unsigned char palette, start, reserved[14];
  unsigned short bytes_per_row[16];
  unsigned char rows[16];
} __attribute__((aligned(64))) one_tile = {1, 0, {0}, {64}, {kRows}};
static char* area;
static unsigned configuration_offset;   // in the standard format
static int faults;

static void handler(int number, siginfo_t* info, void* context) {
  (void)number;
  const long at = (char*)info->si_addr - area;
  unsigned char start;
  memcpy(&start, (char*)((ucontext_t*)context)->uc_mcontext.fpregs + configuration_offset + 1, 1);
  printf("row %ld, the frame says %u\n", at / kPage, start);
  ++faults;
  mprotect(area + at / kPage * kPage, kPage, PROT_READ | PROT_WRITE);
}

static void keep_away(void) {
  mprotect(area, kRows * kPage, PROT_NONE);
  mprotect(area, kReady * kPage, PROT_READ | PROT_WRITE);
}

int main(void) {
  unsigned a, b, c, d;
  if (syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18) != 0) {
    printf("SKIPPED: no AMX tiles\n");
    return 0;
  }
  __cpuid_count(0xd, 17, a, b, c, d);
  configuration_offset = b;
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  area = mmap(NULL, kRows * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int k = 0; k < kRows * kPage; ++k) area[k] = (char)(k * 13 + k / kPage);
  static char got[1024];
  keep_away();
  __asm__ volatile("ldtilecfg %0\n tileloadd 100(%1,%2,1), %%tmm0" : : "m"(one_tile), "r"(area), "r"((long)kPage) : "memory");
  __asm__ volatile("tilestored %%tmm0, (%0,%1,1)" : : "r"(got), "r"(64l) : "memory");
  CHECK_EQUAL(faults, kRows - kReady);
  for (int row = 0; row < kRows; ++row) CHECK(memcmp(got + 64 * row, area + 100 + kPage * row, 64) == 0);
  keep_away();
  __asm__ volatile("tilestored %%tmm0, 1000(%0,%1,2)\n tilerelease" : : "r"(area), "r"((long)kPage / 2) : "memory");
  CHECK_EQUAL(faults, 2 * (kRows - kReady));
  for (int row = 0; row < kRows; ++row) CHECK(memcmp(got + 64 * row, area + 1000 + kPage * row, 64) == 0);
  return finish();
}
