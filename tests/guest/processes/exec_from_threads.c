// build: -pthread
// Several threads of a process execute at the same time: one does it, the others vanish with their calls. Some of the files are not there.
#include <pthread.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kRounds = 12, kThreads = 8 };

static char* self;
static pthread_barrier_t all_there;   // while one executes, no thread can be made

static void* executes(void* x) {
  char* arguments[] = {self, "again", NULL};
  pthread_barrier_wait(&all_there);
  if (x != NULL) execv("/no/such/program", arguments);
  execv(self, arguments);
  _exit(1);
}

int main(int argc, char** argv) {
  if (argc > 1) return 7;
  self = argv[0];
  for (int round = 0; round < kRounds; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      pthread_t threads[kThreads];
      pthread_barrier_init(&all_there, NULL, kThreads);
      for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, executes, i % 2 ? &self : NULL) == 0);
      for (;;) pause();
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 7);
  }
  return finish();
}
