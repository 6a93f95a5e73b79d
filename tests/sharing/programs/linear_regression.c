/* The pattern of Phoenix's linear_regression: the sums of each thread in its element of one heap array, which is not at the start of a line.
   PADDED: each element at the start of a line. */
#include "start_together.h"

typedef struct {
#ifdef PADDED
  _Alignas(64)
#endif
  int id;
  const signed char* points;
  long count, sx, sy, sxx, syy;
  volatile long sxy;
} lreg_args;

static lreg_args* arguments;
static signed char points[2 * ROUNDS];

static void* linear_regression(void* argument) {
  lreg_args* a = &arguments[(intptr_t)argument];
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS / 4; ++i) {
    const long x = a->points[2 * i], y = a->points[2 * i + 1];
    *(volatile long*)&a->sx += x; /* MARK */
    *(volatile long*)&a->sxx += x * x;
    *(volatile long*)&a->sy += y;
    *(volatile long*)&a->syy += y * y;
    a->sxy += x * y;
  }
  return 0;
}

int main(void) {
#ifdef PADDED
  arguments = aligned_alloc(64, THREADS * sizeof(lreg_args));
#else
  arguments = malloc(THREADS * sizeof(lreg_args)); /* ALLOCATED */
#endif
  memset(arguments, 0, THREADS * sizeof(lreg_args));
  for (int t = 0; t < THREADS; ++t) arguments[t].points = points;
  run_threads(linear_regression);
  printf("%ld\n", arguments[0].sxy);
}
