/* Counters of several threads in one line: elements of a global array. PADDED: one line each. */
#include "start_together.h"

#ifdef PADDED
struct counter { _Alignas(64) volatile long value; };
#else
struct counter { volatile long value; };
#endif
_Alignas(64) static struct counter counters[THREADS];

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) counters[t].value++; /* MARK */
  return 0;
}

int main(void) {
  run_threads(work);
  printf("%ld\n", counters[0].value);
}
