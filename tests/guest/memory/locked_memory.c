// mlockall(MCL_FUTURE): of mappings and the heap, with MCL_ONFAULT, within the limit; a child does not inherit it.
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kPages = 16 };

static int resident(void* from) {
  unsigned char pages[kPages];
  CHECK(mincore(from, kPages * kPage, pages) == 0);
  int count = 0;
  for (int k = 0; k < kPages; ++k) count += pages[k] & 1;
  return count;
}

static char* map(void) {
  return mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static char* grow_heap(void) {
  char* const end = sbrk(0);
  char* const begin = (char*)(((uintptr_t)end + kPage - 1) / kPage * kPage);
  CHECK(sbrk(begin - end + kPages * kPage) == end);
  return begin;
}

static void expect_child(int (*what)(void)) {
  const pid_t child = fork();
  if (child == 0) _exit(what());
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQUAL(status, 7 << 8);
}

static int is_not_locked(void) { return resident(map()) == 0 && resident(grow_heap()) == 0 ? 7 : 1; }

static int is_limited(void) {
  const struct rlimit limit = {64 << 10, 64 << 10};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || (getuid() == 0 && setresuid(65534, 65534, 65534) != 0)) return 2;
  if (mlockall(MCL_FUTURE) != 0) return 3;
  char* const end = sbrk(0);
  errno = 0;
  if (sbrk(1 << 20) != (void*)-1 || errno != ENOMEM || sbrk(0) != end) return 4;
  if (mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EAGAIN) return 5;
  return map() != MAP_FAILED ? 7 : 6;
}

int main(void) {
  const struct rlimit enough = {1 << 20, 1 << 20};
  struct rlimit now;
  CHECK(getrlimit(RLIMIT_MEMLOCK, &now) == 0);
  skip_unless(now.rlim_cur >= enough.rlim_cur, "memory that may be locked");
  CHECK(mlockall(MCL_FUTURE) == 0);
  CHECK_EQUAL(resident(map()), kPages);
  CHECK_EQUAL(resident(grow_heap()), kPages);
  expect_child(is_not_locked);
  CHECK_EQUAL(resident(map()), kPages);
  CHECK(mlockall(MCL_FUTURE | MCL_ONFAULT) == 0);
  char* const pages = map();
  CHECK_EQUAL(resident(pages), 0);
  pages[5 * kPage] = 1;
  CHECK_EQUAL(resident(pages), 1);
  CHECK_EQUAL(resident(grow_heap()), 0);
  CHECK(munlockall() == 0);
  CHECK_EQUAL(resident(map()), 0);
  expect_child(is_limited);
  return finish();
}
