/* Threads write to a thread-local array of a thread that has the stack of others, which have ended. */
#include "start_together.h"

static _Thread_local volatile long own[8] __attribute__((aligned(64)));
static volatile long* shared;

static void* nothing(void* argument) { return argument; }

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) shared[t]++; /* MARK */
  return 0;
}

static void* owner(void* argument) {
  shared = own;
  run_threads(work);
  return argument;
}

static void run_alone(void* (*body)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, 0, body, 0) != 0) exit(1);
  pthread_join(thread, 0);
}

int main(void) {
  for (int i = 0; i < 3; ++i) run_alone(nothing);
  run_alone(owner);
}
