// Instructions that trap, that are none, that reach beyond what is executable, or that are seldom seen: the same signal, code, address,
// error code and trap number as natively, on whatever processor this is.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../guest.h"

enum { kPage = 4096 };

struct Case {
  const char* name;
  int offset, length;   // in the page; behind the bytes comes a ret
  unsigned char bytes[24];
};

static const struct Case kCases[] = {
    {"push es", 0, 1, {0x06}},
    {"ud2", 0, 2, {0x0f, 0x0b}},
    {"ud1", 0, 3, {0x0f, 0xb9, 0xc0}},
    {"ud0", 0, 3, {0x0f, 0xff, 0xc0}},
    {"hlt", 0, 1, {0xf4}},
    {"cli", 0, 1, {0xfa}},
    {"in", 0, 1, {0xec}},
    {"int1", 0, 1, {0xf1}},
    {"int3", 0, 1, {0xcc}},
    {"int 4", 0, 2, {0xcd, 4}},
    {"int 0x81", 0, 2, {0xcd, 0x81}},
    {"into", 0, 1, {0xce}},
    {"lock nop", 0, 2, {0xf0, 0x90}},
    {"d6", 0, 1, {0xd6}},
    {"0f 04", 0, 2, {0x0f, 0x04}},
    {"rdmsr", 0, 2, {0x0f, 0x32}},
    {"wbinvd", 0, 2, {0x0f, 0x09}},
    {"mov cr0", 0, 3, {0x0f, 0x20, 0xc0}},
    {"lock add reg", 0, 3, {0xf0, 0x01, 0xc0}},
    {"end of page mov", 4093, 3, {0x48, 0x8b, 0x05}},
    {"end of page 48", 4095, 1, {0x48}},
    {"end nop", 4095, 1, {0x90}},
    {"nop then cut", 4090, 6, {0x90, 0x90, 0x90, 0x48, 0x8b, 0x05}},
    {"end jcc", 4094, 2, {0x74, 0x00}},
    {"xbegin", 0, 6, {0xc7, 0xf8, 0, 0, 0, 0}},
    {"xend", 0, 3, {0x0f, 0x01, 0xd5}},
    {"xtest", 0, 3, {0x0f, 0x01, 0xd6}},
    {"xabort", 0, 3, {0xc6, 0xf8, 0x01}},
    {"retf", 0, 2, {0x48, 0xcb}},
    {"iretq", 0, 2, {0x48, 0xcf}},
    {"ljmp bad", 0, 6, {0xff, 0x2d, 0, 0, 0, 0}},
    {"sysenter", 0, 2, {0x0f, 0x34}},
    {"sysexit", 0, 2, {0x0f, 0x35}},
    {"sysret", 0, 3, {0x48, 0x0f, 0x07}},
    {"swapgs", 0, 3, {0x0f, 0x01, 0xf8}},
    {"rsm", 0, 2, {0x0f, 0xaa}},
    {"vmcall", 0, 3, {0x0f, 0x01, 0xc1}},
    {"vmmcall", 0, 3, {0x0f, 0x01, 0xd9}},
    {"monitor", 0, 3, {0x0f, 0x01, 0xc8}},
    {"mwait", 0, 3, {0x0f, 0x01, 0xc9}},
    {"rdtscp", 0, 3, {0x0f, 0x01, 0xf9}},
    {"div0", 0, 4, {0x31, 0xc9, 0xf7, 0xf1}},
    {"mov es", 0, 2, {0x8e, 0xc7}},
    {"mov ss bad", 0, 7, {0xb8, 0x99, 0, 0, 0, 0x8e, 0xd0}},
    {"lgdt", 0, 3, {0x0f, 0x01, 0x10}},
    {"sgdt", 0, 12, {0x48, 0x83, 0xec, 0x20, 0x0f, 0x01, 0x04, 0x24, 0x48, 0x83, 0xc4, 0x20}},
    {"sldt", 0, 3, {0x0f, 0x00, 0xc0}},
    {"str", 0, 3, {0x0f, 0x00, 0xc8}},
    {"smsw", 0, 3, {0x0f, 0x01, 0xe0}},
    {"verr", 0, 3, {0x0f, 0x00, 0xe0}},
    {"lar", 0, 3, {0x0f, 0x02, 0xc0}},
    {"lsl", 0, 3, {0x0f, 0x03, 0xc0}},
    {"evex bad", 0, 6, {0x62, 0xf0, 0x00, 0x00, 0x00, 0x00}},
    {"rdpmc", 0, 2, {0x0f, 0x33}},
    {"clts", 0, 2, {0x0f, 0x06}},
    {"invlpg", 0, 3, {0x0f, 0x01, 0x3f}},
    {"vmread far", 0, 7, {0x0f, 0x78, 0x15, 0xcc, 0xcc, 0xcc, 0xcc}},
    {"vmptrld far", 0, 7, {0x0f, 0xc7, 0x35, 0xcc, 0xcc, 0xcc, 0xcc}},
    {"lgdt far", 0, 7, {0x0f, 0x01, 0x15, 0xcc, 0xcc, 0xcc, 0xcc}},
    {"invept far", 0, 9, {0x66, 0x0f, 0x38, 0x80, 0x0d, 0xcc, 0xcc, 0xcc, 0xcc}},
    {"not reached", 0, 13, {0x31, 0xc0, 0x74, 0x07, 0x0f, 0x78, 0x15, 0xcc, 0xcc, 0xcc, 0xcc, 0x90, 0x90}},
    {"jkzd", 0, 8, {0xc5, 0x50, 0x84, 0x99, 0xd8, 0, 0, 0}},
    {"jknzd", 0, 8, {0xc5, 0x50, 0x85, 0x99, 0xd8, 0, 0, 0}},
    {"prefetchw", 0, 4, {0x0f, 0x0d, 0x0c, 0x24}},
    {"endbr", 0, 4, {0xf3, 0x0f, 0x1e, 0xfa}},
    {"rdsspq", 0, 5, {0xf3, 0x48, 0x0f, 0x1e, 0xc8}},
    {"incsspq", 0, 5, {0xf3, 0x48, 0x0f, 0xae, 0xe8}},
    {"cldemote", 0, 4, {0x0f, 0x1c, 0x04, 0x24}},
    {"serialize", 0, 3, {0x0f, 0x01, 0xe8}},
    {"wrpkru", 0, 9, {0x31, 0xc9, 0x31, 0xd2, 0x31, 0xc0, 0x0f, 0x01, 0xef}},
    {"3dnow", 0, 4, {0x0f, 0x0f, 0xc0, 0x9e}},
    {"fs mov", 0, 9, {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}},
    {"noncanon", 0, 12, {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x8a, 0x00}},
    {"jmp 0", 0, 4, {0x31, 0xc0, 0xff, 0xe0}},
    {"arpl", 0, 2, {0x63, 0xc0}},
    {"rdpid", 0, 4, {0xf3, 0x0f, 0xc7, 0xf8}},
    {"umonitor", 0, 4, {0xf3, 0x0f, 0xae, 0xf0}},
    {"tpause", 0, 4, {0x66, 0x0f, 0xae, 0xf0}},
    {"mcommit", 0, 4, {0xf3, 0x0f, 0x01, 0xfa}},
    {"rdpru", 0, 5, {0x31, 0xc9, 0x0f, 0x01, 0xfd}},
    {"amx", 0, 5, {0xc4, 0xe2, 0x78, 0x49, 0xc0}},
    {"sixteen bytes", 0, 17, {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90}},
    {"fourteen prefixes and two bytes", 0, 16, {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x0f, 0x0b}},
};

static sigjmp_buf out;
static unsigned char* page;

static long relative(uint64_t address) { return address == 0 ? -1 : (long)(address - (uint64_t)page); }

static void on_signal(int number, siginfo_t* info, void* context) {
  const greg_t* r = ((ucontext_t*)context)->uc_mcontext.gregs;
  printf("signal %d code %d address %ld pc %ld error %llx trap %lld\n", number, info->si_code, relative((uint64_t)info->si_addr),
         relative((uint64_t)r[REG_RIP]), (unsigned long long)r[REG_ERR], (long long)r[REG_TRAPNO]);
  siglongjmp(out, 1);
}

static void try(const struct Case* c) {
  CHECK_EQUAL(mprotect(page, kPage, PROT_READ | PROT_WRITE), 0);
  memset(page, 0x90, kPage);
  memcpy(page + c->offset, c->bytes, (size_t)c->length);
  if (c->offset + c->length < kPage) page[c->offset + c->length] = 0xc3;
  CHECK_EQUAL(mprotect(page, kPage, PROT_READ | PROT_EXEC), 0);
  printf("%s: ", c->name);
  if (sigsetjmp(out, 1)) return;
  ((void (*)(void))(page + c->offset))();
  printf("returned\n");
}

// docs/signals.md, "Not exact": Intel's sysenter enters the kernel, which comes back in 32-bit code; transactions may be there though CPUID hides them; a
// hypervisor on it may write its own call over AMD's, where that is.
static int is_left_out(const char* name) {
  unsigned a, b = 0, c, d;
  __get_cpuid_count(7, 0, &a, &b, &c, &d);
  const int hidden = (b >> 11 & 1) == 0 && (strcmp(name, "xbegin") == 0 || strcmp(name, "xabort") == 0);
  return is_intel() && (hidden || strcmp(name, "sysenter") == 0 || strcmp(name, "vmmcall") == 0);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
  const int signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
  for (unsigned k = 0; k < sizeof signals / sizeof *signals; ++k) CHECK_EQUAL(sigaction(signals[k], &action, NULL), 0);
  page = mmap((void*)0x200000000, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  CHECK(page != MAP_FAILED && munmap(page + kPage, kPage) == 0);
  for (unsigned k = 0; k < sizeof kCases / sizeof *kCases; ++k)
    if (!is_left_out(kCases[k].name)) try(&kCases[k]);
  return finish();
}
