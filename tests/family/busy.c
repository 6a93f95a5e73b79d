// One thread computes all the time; meanwhile the number of children that is asked for, one at a time.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop;
static volatile long sums[1024];

static void* compute(void* unused) {
  for (unsigned long k = 0; !atomic_load_explicit(&stop, memory_order_relaxed); ++k) sums[k & 1023] += (long)k;
  return unused;
}

int main(int count, char** words) {
  pthread_t thread;
  if (count != 2 || pthread_create(&thread, NULL, compute, NULL) != 0) return 2;
  for (int left = atoi(words[1]); left > 0; --left) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child) return 1;
  }
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
