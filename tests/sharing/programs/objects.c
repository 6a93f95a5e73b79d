/* For check_details.py: objects of 1 MiB, one after the other, most of them where the one before has been. Each is read once, line by line. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

enum { BYTES = 1 << 20 };

static char variable[BYTES];
static _Thread_local char of_thread[BYTES];

__attribute__((noinline)) static long sweep(const volatile char* from) {
  long sum = 0;
  for (long i = 0; i < BYTES; i += 64) sum += from[i];
  return sum;
}

__attribute__((noinline)) static long first_block(void) {
  char* block = malloc(BYTES);
  block[0] = 1;
  const long sum = sweep(block);
  free(block);
  return sum;
}

__attribute__((noinline)) static long twice(void) {
  long sum = 0;
  for (int i = 0; i < 2; ++i) {
    char* block = aligned_alloc(64, BYTES);
    block[0] = 1;
    sum += sweep(block);
    free(block);
  }
  return sum;
}

__attribute__((noinline)) static long mapped(void) {
  char* map = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const long sum = sweep(map);
  munmap(map, BYTES);
  return sum;
}

int main(void) { return first_block() + twice() + mapped() + sweep(variable) + sweep(of_thread) == 1 << 30; }
