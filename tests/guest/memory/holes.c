// Addresses where /proc/self/maps shows nothing are as good as unmapped for every call that takes a range.
#include <errno.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

#define PAGE 4096ul

static unsigned long edges[2000];
static int count;

static void read_maps(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  unsigned long from, to;
  while (fscanf(maps, "%lx-%lx%*[^\n]", &from, &to) == 2 && from < 1ul << 47) {
    edges[count++] = from;
    edges[count++] = to;
    CHECK(count < 1990);
  }
  fclose(maps);
}

static void probe(unsigned long from, unsigned long bytes) {
  void* at = (void*)from;
  unsigned char resident[16];
  const unsigned long few = bytes < 16 * PAGE ? bytes : 16 * PAGE;
  errno = 0;
  CHECK(mincore(at, few, resident) == -1 && errno == ENOMEM);
  CHECK(mprotect(at, bytes, PROT_READ) == -1 && errno == ENOMEM);
  CHECK(msync(at, bytes, MS_ASYNC) == -1 && errno == ENOMEM);
  CHECK(madvise(at, bytes, MADV_NORMAL) == -1 && errno == ENOMEM);
  CHECK(mlock(at, few) == -1 && errno == ENOMEM);
  CHECK(munlock(at, few) == -1 && errno == ENOMEM);
  CHECK(mremap(at, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
  CHECK(munmap(at, bytes) == 0);
}

int main(void) {
  read_maps();
  const int known = count;
  unsigned long before = 1ul << 20;
  for (int k = 0; k < known; k += 2) {
    // The stack may grow into the pages below it, and the heap upwards.
    unsigned long end = edges[k];
    if (end > before && end - before > 2048 * PAGE) end -= 1024 * PAGE;
    if (end > before) probe(before, end - before);
    before = edges[k + 1];
  }
  // A range with something at its start and nothing behind it: what is there is changed.
  char* page = mmap((void*)0x123450000000, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(page == (char*)0x123450000000);
  page[0] = 1;
  CHECK(mprotect(page, 1ul << 45, PROT_READ) == -1 && errno == ENOMEM);
  CHECK(madvise(page, 0x0e0000000000, MADV_DONTNEED) == -1 && errno == ENOMEM);
  CHECK_EQUAL(page[0], 0);
  CHECK(munmap(page, 0x0e0000000000) == 0);
  CHECK(msync(page, PAGE, MS_ASYNC) == -1 && errno == ENOMEM);
  CHECK(munmap(0, 1ul << 47) == -1 && errno == EINVAL);   // more than there is: nothing is done
  CHECK(munmap((void*)4096, 0x7ffffffff000) == -1 && errno == EINVAL);
  const int reserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  CHECK(mmap((void*)0x10000, 1ul << 47, PROT_NONE, reserve, -1, 0) == MAP_FAILED && errno == ENOMEM);
  CHECK(mlockall(0) == -1 && errno == EINVAL);
  CHECK(mlockall(64) == -1 && errno == EINVAL);
  return finish();
}
