// build: -pthread
// How threads end: detached, cancelled (deferred, at once, forbidden), owners of robust mutexes, in every order of joining; and what
// two processes share: mutexes, condition variables, barriers.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static sem_t done;
static long ended, cleaned;
static int pipe_ends[2];

static void* detached(void* argument) {
  __atomic_add_fetch(&ended, (long)argument, __ATOMIC_RELAXED);
  sem_post(&done);
  return NULL;
}

static void many_detached(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (long i = 1; i <= 100; ++i) {
    pthread_t thread;
    while (pthread_create(&thread, i % 2 ? &attributes : NULL, detached, (void*)i) != 0) sched_yield();
    if (i % 2 == 0) CHECK(pthread_detach(thread) == 0);
  }
  for (int i = 0; i < 100; ++i) sem_wait(&done);
  CHECK_EQUAL(ended, 5050);
}

static void clean(void* value) { cleaned = cleaned * 10 + (long)value; }

static void* blocked(void* what) {
  char byte;
  pthread_cleanup_push(clean, (void*)1);
  pthread_cleanup_push(clean, (void*)2);
  switch ((long)what) {
    case 0:
      if (read(pipe_ends[0], &byte, 1) < 0) break;
      break;
    case 1:
      for (;;) sleep(100);
    case 2:
      for (;;) pause();
    case 3: {
      pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
      for (volatile long i = 0;; ++i) continue;
    }
    default:
      for (;;) pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return NULL;
}

static volatile int may_end;

static void* refuses(void* unused) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  sem_post(&done);
  while (!may_end) sched_yield();
  pthread_testcancel();
  return unused;
}

static void cancelled(void) {
  void* result;
  for (long what = 0; what < 5; ++what)
    for (int i = 0; i < 5; ++i) {
      pthread_t thread;
      cleaned = 0;
      CHECK(pthread_create(&thread, NULL, blocked, (void*)what) == 0);
      for (int k = 0; k < 3 * i; ++k) sched_yield();
      CHECK(pthread_cancel(thread) == 0);
      CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
      CHECK(cleaned == 21 || cleaned == 0);  // it may end before it has begun
    }
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, refuses, &done) == 0);
  sem_wait(&done);
  CHECK(pthread_cancel(thread) == 0);
  may_end = 1;
  CHECK(pthread_join(thread, &result) == 0 && result == &done);
}

static pthread_barrier_t barrier;
static pthread_key_t key;

static void destroy(void* value) { __atomic_add_fetch(&ended, (long)value, __ATOMIC_RELAXED); }

static void* at_once(void* argument) {
  pthread_setspecific(key, argument);
  pthread_barrier_wait(&barrier);
  return argument;
}

static void in_every_order(void) {
  enum { kThreads = 72 };
  pthread_t threads[kThreads];
  pthread_key_create(&key, destroy);
  for (int order = 0; order < 3; ++order) {
    ended = 0;
    pthread_barrier_init(&barrier, NULL, kThreads);
    for (long i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, at_once, (void*)i) == 0);
    for (long i = 0; i < kThreads; ++i) {
      const long k = order == 0 ? i : order == 1 ? kThreads - 1 - i : (i * 29) % kThreads;
      void* result;
      CHECK(pthread_join(threads[k], &result) == 0 && result == (void*)k);
    }
    CHECK_EQUAL(ended, kThreads * (kThreads - 1) / 2);
    pthread_barrier_destroy(&barrier);
  }
}

struct shared {
  pthread_mutex_t mutex, inheriting;
  pthread_cond_t condition;
  pthread_barrier_t barrier;
  int turn;
};

static void* dies_with(void* mutex) {
  pthread_mutex_lock(mutex);
  return NULL;
}

static void robust_and_shared(void) {
  struct shared* s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&s->mutex, &attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&s->inheriting, &attributes);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&s->condition, &condition);
  pthread_barrierattr_t meeting;
  pthread_barrierattr_init(&meeting);
  pthread_barrierattr_setpshared(&meeting, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&s->barrier, &meeting, 2);
  for (int round = 0; round < 4; ++round) {
    pthread_mutex_t* mutex = round % 2 ? &s->inheriting : &s->mutex;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, dies_with, mutex) == 0 && pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(pthread_mutex_lock(mutex), EOWNERDEAD);
    CHECK(pthread_mutex_consistent(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
    const pid_t child = fork();
    if (child == 0) {
      pthread_mutex_lock(mutex);
      pthread_barrier_wait(&s->barrier);
      if (round < 2) _exit(3);
      for (;;) pause();
    }
    pthread_barrier_wait(&s->barrier);
    if (round >= 2) kill(child, SIGKILL);
    CHECK_EQUAL(pthread_mutex_lock(mutex), EOWNERDEAD);
    CHECK(pthread_mutex_consistent(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
  }
  const pid_t child = fork();
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&s->mutex);
    while (s->turn != (child == 0)) pthread_cond_wait(&s->condition, &s->mutex);
    s->turn = child != 0;
    pthread_cond_signal(&s->condition);
    pthread_mutex_unlock(&s->mutex);
  }
  if (child == 0) _exit(0);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, dies_with, &s->mutex) == 0 && pthread_join(thread, NULL) == 0);
  CHECK_EQUAL(pthread_mutex_trylock(&s->mutex), EOWNERDEAD);
  CHECK_EQUAL(pthread_mutex_unlock(&s->mutex), 0);
  CHECK_EQUAL(pthread_mutex_lock(&s->mutex), ENOTRECOVERABLE);
}

int main(void) {
  sem_init(&done, 0, 0);
  CHECK(pipe(pipe_ends) == 0);
  many_detached();
  cancelled();
  in_every_order();
  robust_and_shared();
  return finish();
}
