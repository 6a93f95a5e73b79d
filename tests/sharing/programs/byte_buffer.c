/* Accesses that are wider than the elements of what they lie in: no element is to be padded. */
#include "start_together.h"

_Alignas(64) static char buffer[256];

static void* work(void* argument) {
  volatile long* const value = (volatile long*)(buffer + 8 * (intptr_t)argument);
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) (*value)++; /* MARK */
  return 0;
}

int main(void) {
  run_threads(work);
  printf("%d\n", buffer[0]);
}
