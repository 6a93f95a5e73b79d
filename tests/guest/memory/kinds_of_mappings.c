// Mappings beside the usual: growing down, of a terabyte, in the low 4 GiB, executable by personality, sealed, with protection keys;
// what madvise throws away; nothing of it may meet anything but what the program mapped.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };
static sigjmp_buf back;
static volatile int fault;

static void caught(int number) {
  fault = number;
  siglongjmp(back, 1);
}

static int faults(volatile char* at) {
  fault = 0;
  if (sigsetjmp(back, 1) == 0) *at = 1;
  return fault;
}

static char* map(size_t size, int protection, int flags) {
  char* at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  CHECK(at != MAP_FAILED);
  return at;
}

static void growing_down(void) {
  char* room = map(600 * kPage, PROT_NONE, 0);
  CHECK(munmap(room, 600 * kPage) == 0);
  char* top = mmap(room + 560 * kPage, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
  CHECK(top == room + 560 * kPage);
  for (int page = 1; page <= 200; ++page) CHECK_EQUAL(faults(top - page * kPage + 8), 0);
  // Its guard gap: something below stops it.
  char* below = mmap(room, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(below == room);
  int grown = 200;
  while (faults(top - grown * kPage - 8) == 0 && grown < 560) ++grown;
  CHECK_EQUAL(fault, SIGSEGV);
  CHECK(grown > 200 && grown <= 560 - 256);
  CHECK(munmap(room, 600 * kPage) == 0);
}

static void huge(void) {
  const size_t size = (size_t)1 << 40;
  char* at = map(size, PROT_READ | PROT_WRITE, MAP_NORESERVE);
  for (size_t k = 0; k < size; k += size / 8) at[k] = (char)(k >> 37);
  for (size_t k = 0; k < size; k += size / 8) CHECK_EQUAL(at[k], (char)(k >> 37));
  CHECK(madvise(at, size, MADV_DONTNEED) == 0 && at[size / 8] == 0);
  CHECK(mprotect(at + size / 2, kPage, PROT_READ) == 0 && faults(at + size / 2) == SIGSEGV && faults(at + size / 2 + kPage) == 0);
  CHECK(munmap(at, size) == 0);
  CHECK(mmap(NULL, (size_t)1 << 47, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED && errno == ENOMEM);
}

static void low(void) {
  char* at = map(16 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_32BIT);
  CHECK((uintptr_t)at + 16 * kPage <= 0x80000000u);
  static const unsigned char code[] = {0x8d, 0x87, 0x39, 0x05, 0, 0, 0xc3};  // lea 0x539(%rdi),%eax; ret
  memcpy(at + 100, code, sizeof code);
  CHECK_EQUAL(((int (*)(int))(uintptr_t)(at + 100))(4), 0x53d);
  CHECK(munmap(at, 16 * kPage) == 0);
}

static void executable_by_personality(void) {
  static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
  CHECK((personality(0xffffffff) & READ_IMPLIES_EXEC) == 0);
  char* before = map(kPage, PROT_READ | PROT_WRITE, 0);
  CHECK(personality(READ_IMPLIES_EXEC) >= 0 && (personality(0xffffffff) & READ_IMPLIES_EXEC) != 0);
  char* at = map(kPage, PROT_READ | PROT_WRITE, 0);
  CHECK(personality(0) >= 0);
  memcpy(at, code, sizeof code);
  memcpy(before, code, sizeof code);
  CHECK_EQUAL(((int (*)(void))(uintptr_t)at)(), 42);
  fault = 0;
  if (sigsetjmp(back, 1) == 0) ((void (*)(void))(uintptr_t)before)();
  CHECK_EQUAL(fault, SIGSEGV);
  CHECK(munmap(at, kPage) == 0 && munmap(before, kPage) == 0);
}

static void thrown_away(void) {
  char* at = map(8 * kPage, PROT_READ | PROT_WRITE, MAP_POPULATE);
  memset(at, 7, 8 * kPage);
  CHECK(madvise(at + kPage, kPage, MADV_DONTNEED) == 0 && at[0] == 7 && at[kPage] == 0 && at[2 * kPage] == 7);
  CHECK(madvise(at, 8 * kPage, MADV_DONTFORK) == 0);
  pid_t child = fork();
  if (child == 0) _exit(faults(at) == SIGSEGV ? 0 : 1);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(madvise(at, 8 * kPage, MADV_DOFORK) == 0 && madvise(at, 8 * kPage, MADV_WIPEONFORK) == 0);
  child = fork();
  if (child == 0) _exit(at[0]);
  CHECK(waitpid(child, &status, 0) == child && status == 0 && at[0] == 7);
  CHECK(madvise(at + 1, kPage, MADV_DONTNEED) == -1 && errno == EINVAL);
  CHECK(munmap(at, 8 * kPage) == 0);
  CHECK(madvise(at, kPage, MADV_DONTNEED) == -1 && errno == ENOMEM);
}

static void in_files(void) {
  const int fd = memfd_create("a", MFD_ALLOW_SEALING);
  CHECK(fd >= 0 && ftruncate(fd, 2 * kPage) == 0);
  char* shared = mmap(NULL, 4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  char* private = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  shared[0] = 1;
  CHECK_EQUAL(private[0], 1);
  private[0] = 2;
  CHECK_EQUAL(shared[0], 1);
  CHECK_EQUAL(faults(shared + 2 * kPage), SIGBUS);
  CHECK(ftruncate(fd, 0) == 0);
  CHECK_EQUAL(faults(shared), SIGBUS);
  CHECK(ftruncate(fd, 4 * kPage) == 0 && faults(shared + 3 * kPage) == 0);
  CHECK(munmap(shared, 4 * kPage) == 0 && munmap(private, 2 * kPage) == 0);
  CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
  CHECK(mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EPERM);
  close(fd);
}

static void protection_keys(void) {
  const int key = pkey_alloc(0, 0);
  if (key < 0) return;
  char* at = map(kPage, PROT_READ | PROT_WRITE, 0);
  CHECK(pkey_mprotect(at, kPage, PROT_READ | PROT_WRITE, key) == 0 && faults(at) == 0);
  CHECK(pkey_set(key, PKEY_DISABLE_WRITE) == 0 && pkey_get(key) == PKEY_DISABLE_WRITE);
  CHECK_EQUAL(faults(at), SIGSEGV);
  CHECK(pkey_set(key, 0) == 0 && faults(at) == 0 && pkey_free(key) == 0);
  CHECK(munmap(at, kPage) == 0);
}

int main(void) {
  signal(SIGSEGV, caught);
  signal(SIGBUS, caught);
  growing_down();
  huge();
  low();
  executable_by_personality();
  thrown_away();
  in_files();
  protection_keys();
  return finish();
}
