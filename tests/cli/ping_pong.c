// ping_pong THREADS ROUNDS: each thread adds to one shared counter, three instructions a round.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
  long counter;
  char padding[56];
} line __attribute__((aligned(64)));

static void* work(void* rounds) {
  long n = (long)rounds;
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
  if (argc != 3) return 2;
  const int threads = atoi(argv[1]);
  const long rounds = atol(argv[2]);
  pthread_t all[1024];
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, work, (void*)rounds);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  printf("%ld\n", line.counter);
  return line.counter == threads * rounds ? 0 : 1;
}
