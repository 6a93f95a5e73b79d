// mremap of several mappings at once, of the same size, with what is between them (Linux 6.17).
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kPages = 6 };

static sigjmp_buf back;

static int code_of_signal;

static void caught(int number, siginfo_t* info, void* context) {
  (void)context;
  code_of_signal = info->si_code;
  siglongjmp(back, number);
}

// What the code returns; minus the signal if it faults.
static int call(char* page) {
  const int number = sigsetjmp(back, 1);
  if (number != 0) return -number;
  return ((int (*)(void))page)();
}

static const int protections[2][kPages] = {
    {PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC, PROT_READ, -1, PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC},
    {PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE, -1, PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_EXEC}};

// Without code at first, so that nothing of it is executable when it is moved.
static const int without_code[kPages] = {PROT_READ | PROT_WRITE, PROT_READ, -1, PROT_READ | PROT_WRITE, PROT_NONE, PROT_READ};

static char* make(const int* protection) {
  char* const pages = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  for (int k = 0; k < kPages; ++k) {
    const unsigned char code[] = {0xb8, (unsigned char)(k + 1), 0, 0, 0, 0xc3};   // mov eax, k + 1; ret
    memcpy(pages + k * kPage, code, sizeof code);
    CHECK((protection[k] == -1 ? munmap(pages + k * kPage, kPage) : mprotect(pages + k * kPage, kPage, protection[k])) == 0);
  }
  return pages;
}

static void expect(char* pages, const int* protection) {
  for (int k = 0; k < kPages; ++k)
    CHECK_EQUAL(call(pages + k * kPage), protection[k] != -1 && (protection[k] & PROT_EXEC) ? k + 1 : -SIGSEGV);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  char* const there = mmap(NULL, kPages * kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(there != MAP_FAILED);
  for (int round = 0; round < 2; ++round) {
    char* const pages = make(protections[round]);
    expect(pages, protections[round]);
    if (mremap(pages, kPages * kPage, kPages * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, there) != there) return finish();
    expect(there, protections[round]);
    for (int k = 0; k < kPages; ++k) CHECK_EQUAL(call(pages + k * kPage), -SIGSEGV);
  }
  char* const pages = make(without_code);
  CHECK(mremap(pages, kPages * kPage, kPages * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, there) == there);
  expect(there, without_code);
  CHECK(mprotect(there + 3 * kPage, kPage, PROT_READ | PROT_EXEC) == 0);
  CHECK_EQUAL(call(there + 3 * kPage), 4);
  // Where they have a hole, what is at the target stays.
  char* const others = make((int[]){PROT_READ, PROT_READ, PROT_READ, PROT_READ, PROT_READ, PROT_READ});
  char* const holed = make(without_code);
  CHECK(mremap(holed, kPages * kPage, kPages * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, others) == others);
  CHECK_EQUAL(call(others + 2 * kPage), -SIGSEGV);
  CHECK_EQUAL(code_of_signal, SEGV_ACCERR);
  return finish();
}
