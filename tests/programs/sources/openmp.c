// OpenMP on eight threads: loops with every schedule, reductions, critical sections, tasks, barriers, atomics.
#include <math.h>
#include <omp.h>
#include <stdio.h>

enum { kSize = 96 };
static double a[kSize][kSize], b[kSize][kSize], c[kSize][kSize];

static long fibonacci(int n) {
  if (n < 2) return n;
  long x, y;
#pragma omp task shared(x) if (n > 12)
  x = fibonacci(n - 1);
  y = fibonacci(n - 2);
#pragma omp taskwait
  return x + y;
}

int main(void) {
  omp_set_dynamic(0);
  omp_set_num_threads(8);
  int threads = 0;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  printf("%d threads\n", threads);
#pragma omp parallel for collapse(2)
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) a[i][j] = i + j, b[i][j] = i - j;
#pragma omp parallel for schedule(dynamic, 3)
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j)
      for (int k = 0; k < kSize; ++k) c[i][j] += a[i][k] * b[k][j];
  long sum = 0, locked = 0, counted = 0;
#pragma omp parallel for reduction(+ : sum) schedule(guided)
  for (int i = 0; i < kSize * kSize; ++i) sum += (long)c[i / kSize][i % kSize] % 1009;
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < 2000; ++i) {
#pragma omp critical
    locked += i;
#pragma omp atomic
    ++counted;
  }
  long number = 0;
#pragma omp parallel
#pragma omp single
  number = fibonacci(18);
  printf("%ld %ld %ld %ld\n", sum, locked, counted, number);
  return 0;
}
