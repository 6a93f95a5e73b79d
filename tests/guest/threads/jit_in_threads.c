// build: -pthread
// One thread rewrites a function (by protection change) between rounds in which eight others call it.
#include <pthread.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kThreads = 8, kRounds = 40 };
static uint8_t* code;
static pthread_barrier_t barrier;

static void* call(void* x) {
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20; ++i) CHECK_EQUAL(((int (*)(int))code)(i), i + round);
    pthread_barrier_wait(&barrier);
  }
  return x;
}

int main(void) {
  pthread_t threads[kThreads];
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_barrier_init(&barrier, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, call, NULL) == 0);
  for (int round = 0; round < kRounds; ++round) {
    CHECK(mprotect(code, 4096, PROT_READ | PROT_WRITE) == 0);
    code[0] = 0x8d, code[1] = 0x87, code[6] = 0xc3;  // lea round(%rdi), %eax ; ret
    memcpy(code + 2, &round, 4);
    CHECK(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
  }
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return finish();
}
