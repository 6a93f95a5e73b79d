// An OpenMP program with three phases, each a parallel region, the last with a barrier in it: `openmp_phases ROUNDS`.
// Threads: OMP_NUM_THREADS.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSide = 512, kBins = 1 << 15 };
static double grids[2][kSide][kSide];
static uint32_t bins[kBins];

__attribute__((noinline)) static void relax(int from) {
#pragma omp parallel for schedule(static)
  for (int y = 1; y < kSide - 1; ++y)
    for (int x = 1; x < kSide - 1; ++x)
      grids[!from][y][x] =
          0.25 * (grids[from][y - 1][x] + grids[from][y + 1][x] + grids[from][y][x - 1] + grids[from][y][x + 1]);
}

__attribute__((noinline)) static double sum_up(void) {
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) sum += grids[0][y][x] * grids[0][y][x];
  return sum;
}

__attribute__((noinline)) static void scatter(uint32_t seed) {
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (uint32_t i = 0; i < 200000; ++i) {
      const uint32_t at = (i * 2654435761u ^ seed) >> 17;
      __atomic_fetch_add(&bins[at], 1, __ATOMIC_RELAXED);
    }
#pragma omp barrier
#pragma omp for schedule(static)
    for (uint32_t i = 0; i < kBins; ++i) bins[i] -= bins[i] / 4;
  }
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 1;
  double sum = 0;
  for (int y = 0; y < kSide; ++y) grids[0][y][0] = grids[1][y][0] = y;
  for (long round = 0; round < rounds; ++round) {
    for (int i = 0; i < 6; ++i) relax(i & 1);
    for (int i = 0; i < 6; ++i) sum += sum_up();
    for (int i = 0; i < 3; ++i) scatter((uint32_t)round);
  }
  printf("%.6g %u\n", sum, bins[7]);
  return 0;
}
