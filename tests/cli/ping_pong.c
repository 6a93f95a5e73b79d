// ping_pong THREADS ROUNDS [yield]: each thread adds to one shared counter, three instructions a round. With `yield` they wait for each other first.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
  long counter;
  char padding[56];
} line __attribute__((aligned(64)));

static int awaited;

static void* work(void* rounds) {
  long n = (long)rounds;
  __atomic_fetch_sub(&awaited, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&awaited, __ATOMIC_SEQ_CST) > 0) sched_yield();
  __asm__ volatile(
      "1: lock addq $1, %1\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(n), "+m"(line.counter)
      :
      : "memory", "cc");
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int threads = atoi(argv[1]);
  awaited = argc > 3 ? threads : 0;
  const long rounds = atol(argv[2]);
  pthread_t all[1024];
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, work, (void*)rounds);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  printf("%ld\n", line.counter);
  return line.counter == threads * rounds ? 0 : 1;
}
