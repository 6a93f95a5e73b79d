// build: -pthread
// A thread calls exit while others compute, wait and sleep: the process ends at once with that status.
#include <pthread.h>

#include "tests/guest/guest.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static volatile uint64_t sink;

static void* computes(void* x) {
  pthread_barrier_wait(&barrier);
  for (;;) sink = sink * 3 + 1;
  return x;
}
static void* waits(void* x) {
  pthread_barrier_wait(&barrier);
  pthread_mutex_lock(&held);
  return x;
}
static void* sleeps(void* x) {
  pthread_barrier_wait(&barrier);
  for (;;) pause();
  return x;
}
static void* ends(void* x) {
  pthread_barrier_wait(&barrier);
  finish();
  exit(42);
  return x;
}

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 5);
  pthread_mutex_lock(&held);
  void* (*const all[])(void*) = {computes, waits, sleeps, ends};
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&thread, NULL, all[i], NULL) == 0);
  computes(NULL);
}
