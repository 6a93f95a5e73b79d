/* An array that is a member, not the first: its elements are what to pad, not its object. PADDED: one line each. */
#include "start_together.h"

#ifdef PADDED
struct counter { _Alignas(64) int id; volatile long value; };
#else
struct counter { int id; volatile long value; };
#endif
static struct { char name[72]; struct counter in[THREADS]; } __attribute__((aligned(64))) world;

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) world.in[t].value++; /* MARK */
  return 0;
}

int main(void) {
  run_threads(work);
  printf("%ld\n", world.in[0].value);
}
