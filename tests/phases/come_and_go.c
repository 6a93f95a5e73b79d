// come_and_go stay|come|one KIND: two threads at a time that do three kinds of work in turns, eight times; `come`: two new ones for each piece of it. `one`: a process
// that does one kind.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, KINDS = 3, STEPS = 60000 };
static unsigned char buffer[1 << 20];
static volatile unsigned long sink;
static pthread_barrier_t barrier;

__attribute__((noinline)) static void stream(void) {
  unsigned long sum = 0;
  for (int i = 0; i < STEPS; ++i) sum += buffer[i * 64 & ((1 << 20) - 1)];
  sink = sum;
}
__attribute__((noinline)) static void compute(void) {
  unsigned x = 1;
  for (int i = 0; i < STEPS; ++i) x = x * 1664525 + 1013904223;
  sink = x;
}
__attribute__((noinline)) static void scatter(void) {
  for (int i = 0; i < STEPS; ++i) buffer[i * 7919 & ((1 << 20) - 1)] = (unsigned char)i;
}
static void work(long kind) { kind == 0 ? stream() : kind == 1 ? compute() : scatter(); }

static void* once(void* kind) {
  work((long)kind);
  return NULL;
}
static void* stays(void* unused) {
  for (int round = 0; round < ROUNDS; ++round)
    for (long kind = 0; kind < KINDS; ++kind) {
      pthread_barrier_wait(&barrier);
      work(kind);
    }
  return unused;
}
static void run_two(void* (*body)(void*), void* argument) {
  pthread_t threads[2];
  for (int k = 0; k < 2; ++k)
    if (pthread_create(&threads[k], NULL, body, argument) != 0) exit(1);
  for (int k = 0; k < 2; ++k) pthread_join(threads[k], NULL);
}

int main(int count, char** words) {
  if (count > 2) {
    for (int round = 0; round < ROUNDS; ++round) work(atol(words[2]));
    return 0;
  }
  if (strcmp(words[1], "stay") == 0) {
    pthread_barrier_init(&barrier, NULL, 2);
    run_two(stays, NULL);
    return 0;
  }
  for (int round = 0; round < ROUNDS; ++round)
    for (long kind = 0; kind < KINDS; ++kind) run_two(once, (void*)kind);
}
