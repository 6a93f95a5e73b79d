// build: -pthread
// Processes with threads are killed when they are being attached to, at once or a little later: their tracer goes on.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kRounds = 40, kThreads = 5, kStepMicroseconds = 250 };

static volatile int* begun;

struct Killer {
  pid_t victim;
  useconds_t microseconds;
};

static void* wait_for_end(void* nothing) {
  __sync_fetch_and_add(begun, 1);
  for (;;) pause();
  return nothing;
}

static int is_traced(pid_t pid) {
  char path[64], text[4096] = "";
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
  close(file);
  const char* const tracer = strstr(text, "TracerPid:");
  CHECK(tracer != NULL);
  return atoi(tracer + sizeof "TracerPid:") != 0;
}

static void* kill_victim(void* argument) {
  const struct Killer* const k = argument;
  while (!is_traced(k->victim)) sched_yield();
  usleep(k->microseconds);
  CHECK(kill(k->victim, SIGKILL) == 0);
  return NULL;
}

static void be_killed(void) {
  pthread_t thread;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int k = 1; k < kThreads; ++k) CHECK(pthread_create(&thread, NULL, wait_for_end, NULL) == 0);
  wait_for_end(NULL);
}

static void trace(useconds_t microseconds) {
  pthread_t thread;
  int status;
  *begun = 0;
  struct Killer killer = {fork(), microseconds};
  CHECK(killer.victim >= 0);
  if (killer.victim == 0) be_killed();
  while (*begun < kThreads) sched_yield();
  CHECK(pthread_create(&thread, NULL, kill_victim, &killer) == 0);
  const int attached = ptrace(PTRACE_ATTACH, killer.victim, 0, 0) == 0;
  CHECK(attached || errno == ESRCH || errno == EPERM);   // the kernel's words for one that has ended
  CHECK(pthread_join(thread, NULL) == 0);
  do CHECK(waitpid(killer.victim, &status, 0) == killer.victim);
  while (WIFSTOPPED(status));
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void) {
  begun = mmap(NULL, sizeof *begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(begun != MAP_FAILED);
  alarm(40);
  for (int k = 0; k < kRounds; ++k) trace(k * kStepMicroseconds);
  return finish();
}
