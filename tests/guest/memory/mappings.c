// mmap, munmap, mremap, brk, madvise, mprotect: contents and errors, many times; big and sparse mappings.
#include <errno.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

int main(void) {
  for (int i = 1; i < 60; ++i) {
    const size_t bytes = (size_t)i * 4096 * (i % 7 + 1);
    uint8_t* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    for (size_t at = 0; at < bytes; at += 4096) {
      CHECK(p[at] == 0);
      p[at] = i;
    }
    p = mremap(p, bytes, bytes * 2, MREMAP_MAYMOVE);
    CHECK(p != MAP_FAILED && p[0] == i && p[bytes - 4096] == i && p[bytes] == 0);
    CHECK(madvise(p, bytes, MADV_DONTNEED) == 0 && p[0] == 0);
    CHECK(munmap(p, bytes * 2) == 0);
  }
  uint8_t* sparse = mmap(NULL, 1ull << 36, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(sparse != MAP_FAILED);
  for (uint64_t at = 0; at < 1ull << 36; at += 1ull << 29) sparse[at] = 1;
  CHECK(munmap(sparse, 1ull << 36) == 0);
  uint8_t* low =
      mmap((void*)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  CHECK(low == (void*)0x10000000);
  CHECK(mmap(low, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
        errno == EEXIST);
  uint8_t* in_low = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  CHECK(in_low != MAP_FAILED && (uintptr_t)in_low < 1ull << 32);
  CHECK(munmap((void*)1, 4096) == -1 && errno == EINVAL);
  CHECK(mprotect((void*)0x10001000, 4096, PROT_READ) == -1 && errno == ENOMEM);
  char* end = sbrk(0);
  CHECK(sbrk(1 << 20) == end && (char*)sbrk(0) == end + (1 << 20));
  memset(end, 7, 1 << 20);
  CHECK(sbrk(-(1 << 20)) == end + (1 << 20) && sbrk(0) == end);
  for (int i = 0; i < 60; ++i) {
    void* blocks[20];
    for (int j = 0; j < 20; ++j) blocks[j] = memset(malloc((i * 37 + j * 4099) % 300000 + 1), j, 1);
    for (int j = 0; j < 20; ++j) free(blocks[(j * 7) % 20]);
  }
  return finish();
}
