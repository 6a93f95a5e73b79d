// Instructions that the end of executable memory cuts off: the processor wants the rest of them, and the fault is that of fetching it.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };

static sigjmp_buf back;

static void caught(int number, siginfo_t* info, void* context) {
  const ucontext_t* const u = context;
  printf("%d, code %d, error %llx, at +%ld", number, info->si_code, (unsigned long long)u->uc_mcontext.gregs[REG_ERR],
         (long)((uintptr_t)info->si_addr & (kPage - 1)));
  siglongjmp(back, 1);
}

static const struct {
  int size;
  unsigned char bytes[14];
} kInstructions[] = {
    {1, {0xc5}}, {2, {0xc5, 0xf8}}, {1, {0xc4}}, {2, {0xc4, 0xe1}}, {3, {0xc4, 0xe1, 0x78}}, {1, {0x62}}, {2, {0x62, 0xf1}},
    {3, {0x62, 0xf1, 0x7c}}, {4, {0x62, 0xf1, 0x7c, 0x48}}, {5, {0x62, 0xf1, 0x7c, 0x48, 0x28}}, {3, {0xc5, 0xf8, 0x28}},
    {2, {0xf0, 0x0f}}, {1, {0xf0}}, {1, {0x48}}, {2, {0x0f, 0x38}}, {3, {0x66, 0x0f, 0x3a}}, {1, {0xe8}}, {3, {0x48, 0x8b, 0x04}},
    {2, {0x81, 0xc0}}, {3, {0x0f, 0x0f, 0xc0}}, {14, {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66}},
};

int main(void) {
  struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGILL, &action, NULL) == 0);
  static const int behind[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, -1};
  for (unsigned k = 0; k < sizeof behind / sizeof *behind; ++k) {
    unsigned char* const pages = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK((behind[k] == -1 ? munmap(pages + kPage, kPage) : mprotect(pages + kPage, kPage, behind[k])) == 0);
    for (unsigned i = 0; i < sizeof kInstructions / sizeof *kInstructions; ++i) {
      const int size = kInstructions[i].size;
      if (is_intel() && size == 3 && kInstructions[i].bytes[1] == 0x0f) continue;   // 3DNow!: not theirs, and undefined without its last byte
      memcpy(pages + kPage - size, kInstructions[i].bytes, (size_t)size);
      for (int j = 0; j < size; ++j) printf("%02x ", kInstructions[i].bytes[j]);
      if (sigsetjmp(back, 1) == 0) ((void (*)(void))(pages + kPage - size))();
      puts("");
    }
  }
  return finish();
}
