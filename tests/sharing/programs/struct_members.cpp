// Two members of one object, one thread each, and two that no one shares. PADDED: lines of their own.
#include "start_together.h"

#ifdef PADDED
#define APART alignas(64)
#else
#define APART
#endif

namespace shop {
struct Statistics {
  long opened;
  APART volatile long sold;
  APART volatile long bought;
};
alignas(64) Statistics statistics;
}  // namespace shop

static void* work(void* argument) {
  const bool even = reinterpret_cast<intptr_t>(argument) == 0;
  const bool odd = reinterpret_cast<intptr_t>(argument) == 1;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) {
    if (even) shop::statistics.sold = shop::statistics.sold + 1;     // SOLD
    if (odd) shop::statistics.bought = shop::statistics.bought + 2;  // BOUGHT
  }
  return nullptr;
}

int main() {
  run_threads(work);
  printf("%ld\n", shop::statistics.sold);
}
