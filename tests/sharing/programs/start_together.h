/* Threads that begin their loops at the same moment, so that the simulated cores meet. On a full machine one that waits comes back when the
   host lets it: the others must have enough to do meanwhile. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 200000 };

static pthread_barrier_t start;

static void run_threads(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&start, 0, THREADS);
  for (intptr_t t = 0; t < THREADS; ++t)
    if (pthread_create(&threads[t], 0, body, (void*)t) != 0) exit(1);
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], 0);
}
