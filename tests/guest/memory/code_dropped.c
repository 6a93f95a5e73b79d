// Code in memory that is not writable, whose contents are dropped: anonymous memory is zero then.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

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

// By the call that is for other processes' memory, two ranges at once, and where nothing is. (Linux 6.13 and later allow it.)
static void by_process_madvise(char* page) {
  const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
  put_code(page, 7);
  put_code(page + 2 * kPage, 8);
  CHECK_EQUAL(call(page), 7);
  CHECK_EQUAL(call(page + 2 * kPage), 8);
  struct iovec ranges[3] = {{page, kPage}, {page + 2 * kPage, kPage}, {page + 1, kPage}};
  const long done = syscall(SYS_process_madvise, self, ranges, 2, MADV_DONTNEED, 0);
  CHECK_EQUAL(call(page), done < 0 ? 7 : -SIGSEGV);
  CHECK_EQUAL(call(page + 2 * kPage), done < 0 ? 8 : -SIGSEGV);
  CHECK(done < 0 || done == 2 * kPage);
  CHECK(done < 0 || syscall(SYS_process_madvise, self, ranges, 3, MADV_DONTNEED, 0) == 2 * kPage);
  CHECK_EQUAL(syscall(SYS_process_madvise, self, ranges + 2, 1, MADV_DONTNEED, 0), -1);
  CHECK_EQUAL(syscall(SYS_process_madvise, self, ranges, 2, MADV_DONTNEED, 1), -1);
  // Ranges that hold what an engine has, none of which the program knows of.
  FILE* maps = fopen("/proc/self/maps", "r");
  unsigned long begin, end, before = 0x10000;
  char line[512];
  struct iovec gaps[256];
  int n = 0;
  while (n < 256 && fgets(line, sizeof line, maps) != NULL && sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin < 1ul << 47) {
    if (begin > before) gaps[n++] = (struct iovec){(void*)before, begin - before < 1ul << 30 ? begin - before : 1ul << 30};
    before = end;
  }
  fclose(maps);
  for (int k = 0; k < n; ++k) CHECK_EQUAL(syscall(SYS_process_madvise, self, gaps + k, 1, MADV_DONTNEED, 0), -1);
  for (int k = 0; k < n; ++k) {
    gaps[k].iov_base = (char*)gaps[k].iov_base + gaps[k].iov_len / 2 / kPage * kPage;
    gaps[k].iov_len = kPage;
    CHECK_EQUAL(syscall(SYS_process_madvise, self, gaps + k, 1, MADV_DONTNEED, 0), -1);
  }
  close(self);
}

int main(void) {
  char* const page = mmap(NULL, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  signal(SIGSEGV, caught);
  for (int k = 1; k <= 20; ++k) {
    put_code(page, k);
    CHECK_EQUAL(call(page), k);
    CHECK_EQUAL(call(page), k);
    CHECK(madvise(page, kPage, MADV_DONTNEED) == 0);
    CHECK_EQUAL(call(page), -SIGSEGV);
  }
  by_process_madvise(page);
  in_the_heap();
  return finish();
}
