// build: -pthread
// Mutexes under contention (all kinds), condition variables, barriers, read-write locks, semaphores, once, spin locks.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "tests/guest/guest.h"

enum { kThreads = 6, kRounds = 1500 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t read_write = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static long counter, nested, spun, written, onces, phases[kThreads], queue[8], queued, taken_sum;

static void only_once(void) { ++onces; }

static void* contend(void* id) {
  pthread_once(&once, only_once);
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&lock);
    ++counter;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    ++nested;
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    if (i % 16 == 0) {
      pthread_spin_lock(&spin);
      ++spun;
      pthread_spin_unlock(&spin);
      pthread_rwlock_wrlock(&read_write);
      ++written;
      pthread_rwlock_unlock(&read_write);
    } else {
      pthread_rwlock_rdlock(&read_write);
      CHECK(written >= 0);
      pthread_rwlock_unlock(&read_write);
    }
  }
  return id;
}

static void* in_step(void* id) {
  const long me = (long)id;
  for (long i = 0; i < 60; ++i) {
    phases[me] = i;
    pthread_barrier_wait(&barrier);
    for (int other = 0; other < kThreads; ++other) CHECK_EQUAL(phases[other], i);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static void* produce(void* id) {
  for (long i = 1; i <= kRounds; ++i) {
    pthread_mutex_lock(&lock);
    while (queued == 8) pthread_cond_wait(&not_full, &lock);
    queue[queued++] = i;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
  }
  return id;
}

static void* consume(void* id) {
  for (long i = 1; i <= kRounds; ++i) {
    pthread_mutex_lock(&lock);
    while (queued == 0) pthread_cond_wait(&not_empty, &lock);
    taken_sum += queue[--queued];
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
  }
  sem_post(&semaphore);
  return id;
}

static void run(void* (*even)(void*), void* (*odd)(void*)) {
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, i % 2 ? odd : even, (void*)i) == 0);
  for (long i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, NULL, kThreads);
  sem_init(&semaphore, 0, 0);
  run(contend, contend);
  CHECK_EQUAL(counter, kThreads * kRounds);
  CHECK_EQUAL(nested, kThreads * kRounds);
  CHECK_EQUAL(spun, kThreads * ((kRounds + 15) / 16));
  CHECK_EQUAL(written, spun);
  CHECK_EQUAL(onces, 1);
  run(in_step, in_step);
  run(produce, consume);
  for (int i = 0; i < kThreads / 2; ++i) CHECK(sem_trywait(&semaphore) == 0);
  CHECK(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
  CHECK_EQUAL(taken_sum, kThreads / 2 * (long)kRounds * (kRounds + 1) / 2);
  struct timespec past = {1, 0};
  pthread_mutex_lock(&lock);
  CHECK_EQUAL(pthread_cond_timedwait(&not_empty, &lock, &past), ETIMEDOUT);
  pthread_mutex_unlock(&lock);
  return finish();
}
