// build: -pthread
// execve by a thread that is not the first: the others vanish, the process id stays.
#include <pthread.h>

#include "tests/guest/guest.h"

static char* self;
static volatile uint64_t sink;

static void* computes(void* x) {
  for (;;) ++sink;
  return x;
}

static void* executes(void* x) {
  char pid[20];
  while (sink < 1000) sched_yield();
  snprintf(pid, sizeof pid, "%d", getpid());
  execl(self, self, pid, (char*)NULL);
  CHECK(0);
  return x;
}

int main(int argc, char** argv) {
  if (argc > 1) {
    CHECK_EQUAL(atoi(argv[1]), getpid());
    CHECK_EQUAL(gettid(), getpid());
    return finish();
  }
  self = argv[0];
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, i == 2 ? executes : computes, NULL) == 0);
  for (;;) pause();
}
