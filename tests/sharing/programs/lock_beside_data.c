/* A spin lock, and in its line data that another thread uses without the lock. PADDED: apart. */
#include "start_together.h"

static struct {
  volatile int lock;
#ifdef PADDED
  char pad[60];
#endif
  volatile long hot;
} _Alignas(64) shared;
static long guarded[64];

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) {
    if (t == 0) {
      shared.hot++; /* DATA */
    } else if (t < 3 && i % 8 == 0) {
      while (__atomic_exchange_n(&shared.lock, 1, __ATOMIC_ACQUIRE)) /* LOCK */
        while (shared.lock) __builtin_ia32_pause(); /* WAIT */
      guarded[8]++;
      __atomic_store_n(&shared.lock, 0, __ATOMIC_RELEASE); /* UNLOCK */
    }
  }
  return 0;
}

int main(void) {
  run_threads(work);
  printf("%ld\n", guarded[8]);
}
