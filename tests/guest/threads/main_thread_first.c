// build: -pthread
// The main thread leaves by pthread_exit; the process goes on until its last thread ends, whose exit status is 0.
#include <pthread.h>

#include "tests/guest/guest.h"

static pthread_t main_thread;

static void* outlives(void* x) {
  CHECK(pthread_join(main_thread, NULL) == 0);
  volatile long sum = 0;
  for (int i = 0; i < 100000; ++i) sum += i;
  finish();
  return x;
}

int main(void) {
  pthread_t thread;
  main_thread = pthread_self();
  CHECK(pthread_create(&thread, NULL, outlives, NULL) == 0);
  pthread_exit((void*)3);
}
