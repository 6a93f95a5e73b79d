// Processes that share this one's memory are killed wherever they are: in a loop, while they run code for the first time, amid calls.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/guest/guest.h"

enum { kStack = 1 << 16, kRounds = 12, kPage = 4096, kFunctions = kPage / 16 };

static char stack[kStack] __attribute__((aligned(16)));
static volatile int started;
static uint8_t* code;

// mov eax, number; ret
static void put_function(uint8_t* at, uint32_t number) {
  at[0] = 0xb8;
  memcpy(at + 1, &number, sizeof number);
  at[5] = 0xc3;
}

static uint32_t call(const uint8_t* at) { return ((uint32_t(*)(void))at)(); }

static int spins(void* nothing) {
  (void)nothing;
  started = 1;
  while (started) __asm__ volatile("" ::: "memory");
  return 0;
}

// Each function once, and then all of them rewritten.
static int runs_new_code(void* at) {
  for (uint32_t round = 0;; ++round) {
    for (int k = 0; k < kFunctions; ++k) put_function((uint8_t*)at + 16 * k, round);
    for (int k = 0; k < kFunctions; ++k)
      if (call((uint8_t*)at + 16 * k) != round) return 1;
    started = 1;
  }
}

static int calls(void* nothing) {
  (void)nothing;
  do {
    void* at = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char*)at = 1;
    munmap(at, kPage);
    started = 1;
  } while (started);
  return 0;
}

static void sleep_for(long microseconds) {
  const struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

// Not before the child is under way, and then after another time in each round.
static void kill_while(int (*acts)(void*), int flags, int round) {
  started = 0;
  const pid_t child = clone(acts, stack + sizeof stack, flags | CLONE_VM | SIGCHLD, code);
  CHECK(child > 0);
  while (!started) sched_yield();
  sleep_for(round * 37 % 400);
  CHECK(kill(child, SIGKILL) == 0);
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  // Code that is new here, and code that changes: others have to be waited for.
  for (int k = 0; k < 8; ++k) {
    put_function(code + kPage + 16 * k, (uint32_t)(round + k));
    CHECK_EQUAL(call(code + kPage + 16 * k), (uint32_t)(round + k));
  }
}

int main(void) {
  code = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (int round = 0; round < kRounds; ++round) {
    kill_while(spins, round % 2 ? CLONE_SIGHAND : 0, round);
    kill_while(runs_new_code, CLONE_FILES, round);
    kill_while(calls, CLONE_FS, round);
  }
  printf("killed %d\n", 3 * kRounds);
  return finish();
}
