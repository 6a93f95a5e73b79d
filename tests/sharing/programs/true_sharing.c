/* All threads add to one variable: no padding can help. */
#include "start_together.h"

_Alignas(64) static long total;

static void* work(void* argument) {
  (void)argument;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) __atomic_fetch_add(&total, 1, __ATOMIC_RELAXED); /* MARK */
  return 0;
}

int main(void) {
  run_threads(work);
  printf("%ld\n", total);
}
