// build: -pthread
// 200 threads at once, each running new code of its own all the time: translation, flushing and descriptor tables under many hands.
#include <pthread.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kThreads = 200, kPieces = 150 };
static pthread_barrier_t barrier;

// A piece: 12 blocks of a store, an add and a jump over two bytes, then the sum.
static unsigned char* piece(unsigned char* p, unsigned seed) {
  *p++ = 0x31, *p++ = 0xc0;                     // xor eax, eax
  for (int k = 0; k < 12; ++k) {
    *p++ = 0x05;                                // add eax, imm32
    memcpy(p, &seed, 4);
    p += 4;
    *p++ = 0x48, *p++ = 0x89, *p++ = 0x44, *p++ = 0x24, *p++ = 0xf0;   // mov [rsp-16], rax
    *p++ = 0x85, *p++ = 0xc0;                   // test eax, eax
    *p++ = 0x74, *p++ = 0x00;                   // jz +0
  }
  *p++ = 0xc3;
  return p;
}

static void* work(void* id) {
  const size_t bytes = kPieces * 256;
  unsigned char* code = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (unsigned k = 0; k < kPieces; ++k) CHECK(piece(code + 256 * k, k + (unsigned)(uintptr_t)id) <= code + 256 * k + 256);
  CHECK(mprotect(code, bytes, PROT_READ | PROT_EXEC) == 0);
  pthread_barrier_wait(&barrier);
  for (unsigned k = 0; k < kPieces; ++k)
    CHECK_EQUAL(((unsigned (*)(void))(code + 256 * k))(), 12 * (k + (unsigned)(uintptr_t)id));
  return id;
}

int main(void) {
  pthread_t t[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (uintptr_t k = 0; k < kThreads; ++k) CHECK(pthread_create(&t[k], NULL, work, (void*)k) == 0);
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_join(t[k], NULL) == 0);
  return finish();
}
