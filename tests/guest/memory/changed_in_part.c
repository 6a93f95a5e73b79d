// Calls that fail at a hole have changed what lies before it (mprotect), or all but it (madvise); and guards, which look like holes.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kGuardInstall = 102, kGuardRemove = 103 };

static sigjmp_buf back;
static void* address;
static int code_of_fault;

static void caught(int number, siginfo_t* info, void* context) {
  (void)context;
  address = info->si_addr;
  code_of_fault = info->si_code;
  siglongjmp(back, number);
}

// mov eax, number; ret
static void put_code(char* page, int number) {
  const unsigned char code[] = {0xb8, (unsigned char)number, 0, 0, 0, 0xc3};
  memcpy(page, code, sizeof code);
}

// What the code returns; minus the signal if it faults.
static int call(char* page) {
  const int number = sigsetjmp(back, 1);
  if (number != 0) return -number;
  int result;
  __asm__ volatile("sub $128, %%rsp; call *%1; add $128, %%rsp" : "=a"(result) : "r"(page), "a"(0L) : "memory", "cc");
  return result;
}

// Six pages with code, of which the fourth is not there.
static char* pages_with_hole(int protection) {
  char* const pages = mmap(NULL, 6 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  for (int k = 0; k < 6; ++k) put_code(pages + k * kPage, k + 1);
  CHECK(mprotect(pages, 6 * kPage, protection) == 0);
  CHECK(munmap(pages + 3 * kPage, kPage) == 0);
  return pages;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);

  char* pages = pages_with_hole(PROT_READ | PROT_EXEC);
  for (int k = 0; k < 6; ++k) CHECK_EQUAL(call(pages + k * kPage), k == 3 ? -SIGSEGV : k + 1);
  CHECK(mprotect(pages, 6 * kPage, PROT_READ) == -1 && errno == ENOMEM);
  for (int k = 0; k < 6; ++k) CHECK_EQUAL(call(pages + k * kPage), k <= 3 ? -SIGSEGV : k + 1);
  CHECK(mprotect(pages + kPage, 4 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC) == -1 && errno == ENOMEM);
  for (int k = 0; k < 6; ++k) CHECK_EQUAL(call(pages + k * kPage), k == 0 || k == 3 ? -SIGSEGV : k + 1);
  put_code(pages + 2 * kPage, 22);   // it may be written now
  CHECK_EQUAL(call(pages + 2 * kPage), 22);

  pages = pages_with_hole(PROT_READ | PROT_EXEC);
  for (int k = 0; k < 6; ++k) CHECK_EQUAL(call(pages + k * kPage), k == 3 ? -SIGSEGV : k + 1);
  CHECK(madvise(pages + kPage, 4 * kPage, MADV_DONTNEED) == -1 && errno == ENOMEM);
  for (int k = 0; k < 6; ++k) CHECK_EQUAL(call(pages + k * kPage), k == 0 || k == 5 ? k + 1 : -SIGSEGV);

  for (int writable = 0; writable < 2; ++writable) {
    pages = pages_with_hole(PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0));
    CHECK_EQUAL(call(pages), 1);
    if (madvise(pages, kPage, kGuardInstall) != 0) continue;   // before Linux 6.13
    CHECK_EQUAL(call(pages), -SIGSEGV);
    CHECK_EQUAL(code_of_fault, SEGV_MAPERR);
    CHECK(address == pages);
    CHECK(madvise(pages, kPage, kGuardRemove) == 0);
    CHECK_EQUAL(call(pages), -SIGSEGV);   // zeros: add [rax], al
    CHECK(address == NULL);
  }

  // What a child does not get is not there, writable or not.
  pages = pages_with_hole(PROT_READ | PROT_WRITE | PROT_EXEC);
  CHECK_EQUAL(call(pages), 1);
  CHECK(madvise(pages, kPage, MADV_DONTFORK) == 0);
  const pid_t child = fork();
  if (child == 0) _exit(call(pages) == -SIGSEGV && code_of_fault == SEGV_MAPERR && address == pages ? 7 : 1);
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK_EQUAL(call(pages), 1);
  return finish();
}
