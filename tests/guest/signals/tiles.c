// AMX tiles and signals: a handler begins without any, and what it does to them is gone behind it; they lie in the frame, which is as large as
// the kernel's own. Skipped where there are none.
#include <asm/prctl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

struct Configuration {
  unsigned char palette, start, reserved[14];
  unsigned short bytes_per_row[16];
  unsigned char rows[16];
} __attribute__((aligned(64)));

static const struct Configuration one_tile = {1, 0, {0}, {64}, {16}};
static unsigned char sent[1024], got[1024];
static struct Configuration seen = {9, 9, {0}, {0}, {0}};

static void load(const unsigned char* from) {
  __asm__ volatile("ldtilecfg %0\n tileloadd (%1,%2,1), %%tmm0" : : "m"(one_tile), "r"(from), "r"(64l) : "memory");
}
static void store(unsigned char* to) { __asm__ volatile("tilestored %%tmm0, (%0,%1,1)" : : "r"(to), "r"(64l) : "memory"); }

static void handler(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  __asm__ volatile("sttilecfg %0" : "=m"(seen));
  unsigned words[12];
  memcpy(words, (char*)((ucontext_t*)context)->uc_mcontext.fpregs + 464, sizeof words);
  unsigned long present;
  memcpy(&present, (char*)((ucontext_t*)context)->uc_mcontext.fpregs + 512, sizeof present);
  printf("frame: %u bytes, components %x, tiles %d\n", words[1], words[2], (int)(present >> 17 & 3));
  if ((present >> 17 & 3) == 0) return;   // used first amid a small frame, they can keep the kernel from reading it again
  static unsigned char others[1024];
  memset(others, 0x77, sizeof others);
  load(others);
}

int main(void) {
  if (syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18) != 0) {
    printf("SKIPPED: no AMX tiles\n");
    return 0;
  }
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  for (int k = 0; k < 1024; ++k) sent[k] = (unsigned char)(k * 7 + 3);
  load(sent);
  raise(SIGUSR1);
  CHECK_EQUAL(seen.palette, 0);
  store(got);
  CHECK(memcmp(sent, got, sizeof sent) == 0);
  __asm__ volatile("tilerelease");
  raise(SIGUSR1);
  return finish();
}
