/* Threads that begin their loops at the same moment, so that the simulated cores meet. They spin: a thread that waits in the kernel
   comes back when the host lets it, and on a full machine finds the others done. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20000 };

/* Alone on its lines. */
static struct {
  int count;
} __attribute__((aligned(128))) arrived;

static inline void wait_for_start(void) {
  __atomic_fetch_add(&arrived.count, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&arrived.count, __ATOMIC_ACQUIRE) != THREADS) __builtin_ia32_pause();
}

static void run_threads(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  for (intptr_t t = 0; t < THREADS; ++t)
    if (pthread_create(&threads[t], 0, body, (void*)t) != 0) exit(1);
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], 0);
}
