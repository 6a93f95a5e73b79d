/* Threads of a pool fight over a block of the heap, and, longer, over another one that has its place afterwards. */
#include "start_together.h"

static volatile long* shared;
static int rounds;

__attribute__((noinline)) static long* small_table(void) { return aligned_alloc(4096, 100000); }
__attribute__((noinline)) static long* big_queue(void) { return aligned_alloc(4096, 100000); /* ALLOCATED */ }

static void begin(long* block, int count) {
  shared = block;
  rounds = count;
}

__attribute__((noinline)) static void fight(intptr_t t) {
  for (int i = 0; i < rounds; ++i) shared[t]++; /* MARK */
}

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  if (t == 0) begin(small_table(), 300);
  pthread_barrier_wait(&start);
  fight(t);
  pthread_barrier_wait(&start);
  if (t == 0) {
    free((void*)shared);
    begin(big_queue(), ROUNDS);
  }
  pthread_barrier_wait(&start);
  fight(t);
  return 0;
}

int main(void) { run_threads(work); }
