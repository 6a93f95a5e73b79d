// Three phases that a profile tells apart, in the order 0 1 2 0 1 2 ...: `phases ROUNDS [THREADS]`. Statically linked and
// without the C library's varying start, so that two runs execute the same instructions.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t table[1 << 20];
static long rounds;

__attribute__((noinline)) static uint32_t mix(uint32_t x) {
  for (int i = 0; i < 200000; ++i) x = x * 1664525u + 1013904223u;
  return x;
}

__attribute__((noinline)) static uint32_t stride(uint32_t x) {
  for (int i = 0; i < 100000; ++i) x += table[(i * 64u) % (1 << 20)];
  return x;
}

__attribute__((noinline)) static uint32_t chase(uint32_t x) {
  for (int i = 0; i < 60000; ++i) {
    x = table[x & ((1 << 20) - 1)] ^ (x >> 3);
    if (x & 1) ++x;
  }
  return x;
}

static void* work(void* argument) {
  uint32_t x = (uint32_t)(uintptr_t)argument;
  for (long round = 0; round < rounds; ++round) {
    for (int i = 0; i < 5; ++i) x = mix(x);
    for (int i = 0; i < 5; ++i) x = stride(x);
    for (int i = 0; i < 5; ++i) x = chase(x);
  }
  return (void*)(uintptr_t)(x | 1);
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 1;
  const long threads = argc > 2 ? atol(argv[2]) : 1;
  for (uint32_t i = 0; i < 1 << 20; ++i) table[i] = i * 2654435761u >> 8;
  pthread_t others[16];
  for (long i = 1; i < threads && i < 16; ++i) pthread_create(&others[i], 0, work, (void*)i);
  const uintptr_t mine = (uintptr_t)work(0);
  for (long i = 1; i < threads && i < 16; ++i) pthread_join(others[i], 0);
  write(1, mine ? "done\n" : "zero\n", 5);
  return 0;
}
