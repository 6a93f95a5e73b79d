// build: -pthread
// Threads come and go: in a row, many at once, detached, with results, with stacks of their own, cancelled, and threads
// of threads.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "tests/guest/guest.h"

static atomic_int ran;
static sem_t done;

static void* twice(void* x) {
  ++ran;
  return (void*)((intptr_t)x * 2);
}

static void* posts(void* x) {
  ++ran;
  sem_post(&done);
  return x;
}

static void* creates(void* x) {
  pthread_t thread;
  void* result;
  CHECK(pthread_create(&thread, NULL, twice, x) == 0);
  CHECK(pthread_join(thread, &result) == 0);
  return result;
}

static void* leaves(void* x) {
  ++ran;
  pthread_exit((char*)x + 1);
}

static void* waits_for_ever(void* x) {
  sem_post(&done);
  for (;;) pause();
  return x;
}

int main(void) {
  pthread_t threads[50];
  void* result;
  for (intptr_t i = 0; i < 200; ++i) {
    CHECK(pthread_create(&threads[0], NULL, i % 2 ? twice : leaves, (void*)i) == 0);
    CHECK(pthread_join(threads[0], &result) == 0);
    CHECK_EQUAL((intptr_t)result, i % 2 ? 2 * i : i + 1);
  }
  for (intptr_t round = 0; round < 4; ++round) {
    for (intptr_t i = 0; i < 50; ++i) CHECK(pthread_create(&threads[i], NULL, creates, (void*)(round * 100 + i)) == 0);
    for (intptr_t i = 0; i < 50; ++i) {
      CHECK(pthread_join(threads[i], &result) == 0);
      CHECK_EQUAL((intptr_t)result, 2 * (round * 100 + i));
    }
  }
  CHECK_EQUAL(ran, 400);
  sem_init(&done, 0, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 50; ++i) CHECK(pthread_create(&threads[i], &attributes, posts, NULL) == 0);
  for (int i = 0; i < 50; ++i) sem_wait(&done);
  CHECK_EQUAL(ran, 450);
  static char stack[1 << 18] __attribute__((aligned(64)));
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, sizeof stack);
  CHECK(pthread_create(&threads[0], &attributes, twice, (void*)21) == 0 && pthread_join(threads[0], &result) == 0);
  CHECK_EQUAL((intptr_t)result, 42);
  for (int i = 0; i < 20; ++i) {
    CHECK(pthread_create(&threads[0], NULL, waits_for_ever, NULL) == 0);
    sem_wait(&done);
    CHECK(pthread_cancel(threads[0]) == 0 && pthread_join(threads[0], &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
  }
  return finish();
}
