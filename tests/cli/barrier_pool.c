/* barrier_pool STEPS: a pool of two threads, and main, between barriers. In each step both count at the same time in one line, 20,000 times; main's part comes between the
   steps. */
#include <pthread.h>
#include <stdlib.h>

static volatile long counters[8] __attribute__((aligned(64)));
static pthread_barrier_t barrier;
static int steps;

static void* work(void* number) {
  volatile long* const own = &counters[(long)number];
  for (int k = 0; k < steps; ++k) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20000; ++i) ++*own;
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int count, char** words) {
  steps = count > 1 ? atoi(words[1]) : 5;
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 3);
  for (long k = 0; k < 2; ++k)
    if (pthread_create(&threads[k], NULL, work, (void*)k) != 0) return 1;
  for (int k = 0; k < 2 * steps; ++k) pthread_barrier_wait(&barrier);
  for (int k = 0; k < 2; ++k) pthread_join(threads[k], NULL);
}
