/* thread_cache: each thread frees a block that the first thread has allocated for it, into its own cache, and gives its cache back when it ends. The
   first thread allocates from there again, and what it keeps is used by two threads. */
#include <pthread.h>
#include <stdlib.h>

#define ROUNDS 50

struct job {
  int id;
  long *counters;
};
static pthread_barrier_t start;

static void *work(void *argument) {
  struct job job = *(struct job *)argument;
  pthread_barrier_wait(&start);
  for (int k = 0; k < 500; ++k) ++*(volatile long *)&job.counters[job.id];
  free(argument);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_barrier_init(&start, NULL, 2);
  for (int round = 0; round < ROUNDS; ++round) {
    long *counters = malloc(3 * sizeof(long)); /* stays */
    for (int i = 0; i < 2; ++i) {
      struct job *job = malloc(3 * sizeof(long));
      job->id = i;
      job->counters = counters;
      pthread_create(&threads[i], NULL, work, job);
    }
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  return 0;
}
