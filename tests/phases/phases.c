// Three phases that a profile tells apart, in the order 0 1 2 0 1 2 ...: `phases ROUNDS [THREADS [FILE]]`. Statically
// linked and without the C library's varying start, so that two runs execute the same instructions; unless FILE holds
// two numbers, A and B: then it does A rounds of something else first, and leaves A + B and B in FILE. THREADS below 0: as
// many, and the main thread does all its work once before it creates the others.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t table[1 << 16];
static long rounds;

__attribute__((noinline)) static uint32_t mix(uint32_t x) {
  for (int i = 0; i < 200000; ++i) x = x * 1664525u + 1013904223u;
  return x;
}

__attribute__((noinline)) static uint32_t stride(uint32_t x) {
  for (int i = 0; i < 100000; ++i) x += table[(i * 64u) % (1 << 16)];
  return x;
}

__attribute__((noinline)) static uint32_t chase(uint32_t x) {
  for (int i = 0; i < 60000; ++i) {
    x = table[(x + (uint32_t)i * 977u) & ((1 << 16) - 1)] ^ (x >> 3);  // i: never in a short cycle
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

__attribute__((noinline)) static uint32_t something_else(long times) {
  uint32_t x = 1;
  for (long i = 0; i < times; ++i) x ^= x << 3 ^ (uint32_t)i;
  return x;
}

static uint32_t differ(const char* name) {
  long times = 0, step = 0;
  FILE* file = fopen(name, "r+");
  if (!file || fscanf(file, "%ld %ld", &times, &step) != 2) return 0;
  rewind(file);
  fprintf(file, "%ld %ld\n", times + step, step);
  fclose(file);
  return something_else(times);
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 1;
  const long asked = argc > 2 ? atol(argv[2]) : 1, threads = labs(asked);
  for (uint32_t i = 0; i < 1 << 16; ++i) table[i] = i * 2654435761u >> 8;
  if (asked < 0) table[0] ^= (uint32_t)(uintptr_t)work(0) & 1;
  pthread_t others[16];
  for (long i = 1; i < threads && i < 16; ++i) pthread_create(&others[i], 0, work, (void*)i);
  if (argc > 3) table[1] ^= differ(argv[3]) & 1;
  const uintptr_t mine = (uintptr_t)work(0);
  for (long i = 1; i < threads && i < 16; ++i) pthread_join(others[i], 0);
  write(1, mine ? "done\n" : "zero\n", 5);
  return 0;
}
