// build: -pthread
// fork while other threads run: the child has one thread, and its C library works (atfork handlers, malloc).
#include <pthread.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile int stop;
static int prepared, in_parent, in_child;
static void prepare(void) { ++prepared; }
static void parent(void) { ++in_parent; }
static void child(void) { ++in_child; }

static void* allocates(void* x) {
  while (!stop) free(malloc(1000 + (uintptr_t)x));
  return x;
}

static void* forks(void* x) {
  for (int i = 0; i < 10; ++i) {
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
      for (int j = 0; j < 100; ++j) free(malloc(j * 50));
      _exit(in_child == 1 ? 5 : 6);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
  }
  return x;
}

int main(void) {
  pthread_t threads[4];
  pthread_atfork(prepare, parent, child);
  for (uintptr_t i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, allocates, (void*)i) == 0);
  CHECK(pthread_create(&threads[3], NULL, forks, NULL) == 0 && pthread_join(threads[3], NULL) == 0);
  forks(NULL);
  stop = 1;
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(prepared == 20 && in_parent == 20 && in_child == 0);
  return finish();
}
