// build: -pthread
// Programs that make threads and processes all the time and are killed meanwhile: each can be waited for soon, and whatever they had begun ends.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

extern char** environ;

static void* nothing(void* argument) { return argument; }

static void make_threads(void) {
  for (;;) {
    pthread_t threads[4];
    int made = 0;
    while (made < 4 && pthread_create(&threads[made], NULL, nothing, NULL) == 0) ++made;
    while (made > 0) pthread_join(threads[--made], NULL);
  }
}

static void make_processes(void) {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
  }
}

// Its status, or -1 after ten seconds.
static int end_of(pid_t child) {
  for (int k = 0; k < 10000; ++k) {
    int status;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    usleep(1000);
  }
  return -1;
}

int main(int count, char** arguments) {
  if (count > 1 && arguments[1][0] == 't') make_threads();
  if (count > 1) make_processes();
  enum { kRounds = 60 };
  int ends[2];   // written to by nobody: it ends with the last of the killed ones' children
  CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t keep;
  posix_spawn_file_actions_init(&keep);
  posix_spawn_file_actions_adddup2(&keep, ends[1], 9);
  for (int k = 0; k < kRounds; ++k) {
    char* const program[] = {"killed_amid_threads", k % 2 ? "threads" : "processes", NULL};
    pid_t child;
    CHECK_EQUAL(posix_spawn(&child, "/proc/self/exe", &keep, NULL, program, environ), 0);
    usleep((useconds_t)(500 + k * 37));
    kill(child, SIGKILL);
    CHECK_EQUAL(end_of(child), SIGKILL);
  }
  close(ends[1]);
  char byte;
  ssize_t bytes;
  alarm(20);
  while ((bytes = read(ends[0], &byte, 1)) == -1 && errno == EINTR) continue;
  CHECK_EQUAL(bytes, 0);
  return finish();
}
