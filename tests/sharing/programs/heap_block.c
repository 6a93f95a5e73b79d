/* The same in a heap block, allocated through a function of the program's own, which stays where it is as there is no memory for a larger one.
   PADDED: one line each. */
#include "start_together.h"

#ifdef PADDED
enum { STRIDE = 8 };
#else
enum { STRIDE = 1 };
#endif
static volatile long* counters;

__attribute__((noinline)) static volatile long* make_counters(size_t n) {
  return aligned_alloc(64, (n * STRIDE * sizeof(long) + 63) / 64 * 64); /* ALLOCATED */
}

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  volatile long* mine = counters + t * STRIDE;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) ++*mine; /* MARK */
  return 0;
}

int main(void) {
  counters = make_counters(THREADS);
  void* larger = realloc((void*)counters, (size_t)1 << 46);
  if (larger != NULL) return 1;
  memset((void*)counters, 0, THREADS * STRIDE * sizeof(long));
  run_threads(work);
  free((void*)counters);
  printf("done\n");
}
