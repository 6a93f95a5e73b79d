// tree SEED [DEPTH]: processes that come and go at random; README.md.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static unsigned state;
static unsigned chance(unsigned n) {
  state = state * 1103515245u + 12345u;
  return (state >> 16) % n;
}

static volatile long sink;
static void compute(unsigned rounds) {
  for (unsigned k = 0; k < rounds; ++k) sink += k;
}

static char** arguments(int depth) {
  static char seed[16], level[16];
  static char* words[4];
  snprintf(seed, sizeof seed, "%u", state);
  snprintf(level, sizeof level, "%d", depth);
  words[0] = "tree", words[1] = seed, words[2] = level, words[3] = NULL;
  return words;
}

static void* run_exec(void* words) {
  execve("/proc/self/exe", words, environ);
  return NULL;
}

static void* run_exit(void* rounds) {
  compute((unsigned)(long)rounds);
  _exit(0);
}

// One thread executes a program while another ends the process.
static void race_exec(int depth) {
  pthread_t one, other;
  char** words = arguments(depth + 1);
  if (pthread_create(&other, NULL, run_exit, (void*)(long)chance(20000)) != 0) _exit(1);
  if (pthread_create(&one, NULL, run_exec, words) != 0) _exit(1);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
  _exit(0);
}

static void grow(int depth);

static void be_child(int depth, pid_t parent, int kills_parent) {
  if (kills_parent) kill(parent, SIGKILL);
  state ^= (unsigned)depth * 2654435761u;
  switch (chance(5)) {
    case 0: _exit(0);
    case 1: run_exec(arguments(depth + 1)); break;
    case 2: race_exec(depth); break;
    default: grow(depth + 1);
  }
  _exit(0);
}

static pid_t make_child(int depth) {
  pid_t child = -1;
  const pid_t self = getpid();
  switch (chance(6)) {
    case 0:
      child = vfork();
      if (child == 0) {
        execve(depth % 2 ? "/nonexistent" : "/proc/self/exe", arguments(9), environ);
        _exit(0);
      }
      return child;
    case 1:
      if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments(depth + 1), environ) != 0) return -1;
      return child;
    case 2:
      if (posix_spawn(&child, "/nonexistent/program", NULL, NULL, arguments(9), environ) == 0) return child;
      return -1;
    default: {
      const int kills_parent = depth > 0 && chance(4) == 0;
      child = fork();
      if (child == 0) be_child(depth, self, kills_parent);
      return child;
    }
  }
}

static void grow(int depth) {
  pid_t children[4];
  unsigned count = 0;
  for (unsigned k = 0, most = depth < 3 ? 2 + chance(2) : 0; k < most; ++k) {
    const pid_t child = make_child(depth);
    if (child > 0) children[count++] = child;
    compute(chance(30000));
  }
  for (unsigned k = 0; k < count; ++k)
    if (chance(3) == 0) kill(children[k], SIGKILL);
  for (;;) {
    if (wait(NULL) < 0 && errno == ECHILD) break;
  }
}

int main(int argc, char** argv) {
  state = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
  const int depth = argc > 2 ? atoi(argv[2]) : 0;
  if (depth == 0) prctl(PR_SET_CHILD_SUBREAPER, 1ul);   // orphans are waited for too
  grow(depth);
  if (depth == 0) puts("done");
  return 0;
}
