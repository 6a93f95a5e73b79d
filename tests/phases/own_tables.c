// `own_tables THREADS ROUNDS [BEFORE]`: each thread walks a table of its own, as large as a first level, and works on
// nothing but registers in between. BEFORE so many others are created and end, one after the other.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { kMostThreads = 16, kWords = 4096 };
static uint64_t tables[kMostThreads][kWords], results[kMostThreads][8];
static long rounds;

static void* work(void* argument) {
  const uintptr_t me = (uintptr_t)argument;
  uint64_t x = me;
  for (long round = 0; round < rounds; ++round) {
    for (int i = 0; i < kWords; i += 2) {
      x += tables[me][i * 7 % kWords];
      tables[me][i] = x;
    }
    for (uint64_t i = 0; i < 3000; ++i) x += i ^ x >> 3;
  }
  results[me][0] = x;
  return 0;
}

static void* nothing(void* argument) { return argument; }

int main(int argc, char** argv) {
  const long asked = argc > 1 ? atol(argv[1]) : 1, threads = asked < kMostThreads ? asked : kMostThreads;
  rounds = argc > 2 ? atol(argv[2]) : 1;
  pthread_t others[kMostThreads];
  for (long i = argc > 3 ? atol(argv[3]) : 0; i > 0; --i) {
    pthread_create(&others[0], 0, nothing, 0);
    pthread_join(others[0], 0);
  }
  for (long i = 0; i < threads; ++i) pthread_create(&others[i], 0, work, (void*)i);
  for (long i = 0; i < threads; ++i) pthread_join(others[i], 0);
  write(1, "done\n", 5);
  return 0;
}
