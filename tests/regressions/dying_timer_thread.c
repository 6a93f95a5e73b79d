// build: -pthread
// Threads end while process-directed signals come: none may be lost with them.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/guest/guest.h"

static atomic_int seen;
static void handler(int number) { (void)number; ++seen; }
static void* nothing(void* p) { return p; }

int main(void) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGRTMIN, &action, NULL);
  for (int k = 0; k < 300; ++k) {
    pthread_t t[2];
    for (int i = 0; i < 2; ++i) CHECK(pthread_create(&t[i], NULL, nothing, NULL) == 0);
    for (int i = 0; i < 3; ++i) {
      const union sigval value = {0};
      CHECK(sigqueue(getpid(), SIGRTMIN, value) == 0);
    }
    for (int i = 0; i < 2; ++i) CHECK(pthread_join(t[i], NULL) == 0);
  }
  for (long k = 0; k < 2000000000 && seen < 900; ++k) sched_yield();
  CHECK_EQUAL(seen, 900);
  return finish();
}
