/* Threads write to a thread-local array of the first thread. */
#include "start_together.h"

static _Thread_local volatile long own[8] __attribute__((aligned(64)));
static volatile long* shared;

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) shared[t]++; /* MARK */
  return 0;
}

int main(void) {
  shared = own;
  run_threads(work);
  printf("%ld\n", own[0]);
}
