// Code in memory that is not writable, whose contents are dropped: anonymous memory is zero then.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };

static sigjmp_buf back;

static void caught(int number) { siglongjmp(back, number); }

// mov eax, number; ret. Zeros would be: add [rax], al.
static void put_code(char* page, int number) {
  const unsigned char code[] = {0xb8, (unsigned char)number, 0, 0, 0, 0xc3};
  CHECK(mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0);
  memcpy(page, code, sizeof code);
  CHECK(mprotect(page, kPage, PROT_READ | PROT_EXEC) == 0);
}

// What the code returns; minus the signal if it faults.
static int call(char* page) {
  const int number = sigsetjmp(back, 1);
  if (number != 0) return -number;
  int result;
  __asm__ volatile("sub $128, %%rsp; call *%1; add $128, %%rsp" : "=a"(result) : "r"(page), "a"(0L) : "memory", "cc");
  return result;
}

// The heap's end is taken back, and set again.
static void in_the_heap(void) {
  char* const end = (char*)(((uintptr_t)sbrk(0) + kPage - 1) & ~(uintptr_t)(kPage - 1));
  for (int k = 1; k <= 20; ++k) {
    CHECK(brk(end + kPage) == 0);
    CHECK(mprotect(end, kPage, PROT_READ | PROT_WRITE) == 0);
    put_code(end, k);
    CHECK_EQUAL(call(end), k);
    CHECK(brk(end) == 0);
    if (k % 2 == 0) CHECK(brk(end + kPage) == 0);
    CHECK_EQUAL(call(end), -SIGSEGV);
    CHECK(brk(end) == 0);
  }
}

int main(void) {
  char* const page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  signal(SIGSEGV, caught);
  for (int k = 1; k <= 20; ++k) {
    put_code(page, k);
    CHECK_EQUAL(call(page), k);
    CHECK_EQUAL(call(page), k);
    CHECK(madvise(page, kPage, MADV_DONTNEED) == 0);
    CHECK_EQUAL(call(page), -SIGSEGV);
  }
  in_the_heap();
  return finish();
}
