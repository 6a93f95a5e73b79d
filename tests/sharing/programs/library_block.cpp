// Counters in a block that a header of the library allocates.
#include <memory>

#include "start_together.h"

struct Counters {
  volatile long value[8];
};
static Counters* counters;

static void* work(void* argument) {
  const intptr_t t = reinterpret_cast<intptr_t>(argument);
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) counters->value[t] = counters->value[t] + 1;  // MARK
  return nullptr;
}

int main() {
  const auto owner = std::make_shared<Counters>();  // ALLOCATED
  counters = owner.get();
  run_threads(work);
  printf("%ld\n", counters->value[0]);
}
