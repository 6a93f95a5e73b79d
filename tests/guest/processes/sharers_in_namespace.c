// build: -pthread
// A process that shares this one's memory from a pid namespace of its own, where nobody else has a number: it has all code thrown away that
// the threads outside are running.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kStack = 1 << 16, kThreads = 3, kRounds = 4, kFunctions = 12000, kApart = 64, kBytes = kFunctions * kApart };

static char stack[kStack] __attribute__((aligned(16)));
static volatile int stop;

// Long enough in one place to be still there when the others are to stop.
static void* works(void* nothing) {
  volatile uint64_t sum = 0;
  while (!stop)
    for (int k = 0; k < 1000; ++k) sum += (uint64_t)k;
  return nothing;
}

// mov eax, number; ret
static int runs_new_code(void* at) {
  for (uint32_t k = 0; k < kFunctions; ++k) {
    uint8_t* const code = (uint8_t*)at + k * kApart;
    code[0] = 0xb8;
    memcpy(code + 1, &k, sizeof k);
    code[5] = 0xc3;
    if (((uint32_t(*)(void))code)() != k) return 1;
  }
  return 0;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_create(&threads[k], NULL, works, NULL) == 0);
  for (int round = 0; round < kRounds; ++round) {
    uint8_t* const code = mmap(NULL, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    const pid_t child = clone(runs_new_code, stack + kStack, CLONE_VM | CLONE_NEWPID | SIGCHLD, code);
    skip_unless(child > 0, "right to make a pid namespace");
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
    CHECK(munmap(code, kBytes) == 0);
  }
  stop = 1;
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_join(threads[k], NULL) == 0);
  return finish();
}
