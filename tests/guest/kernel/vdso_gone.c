// build: -pthread
// A program that moves its vdso elsewhere and then takes it away, as checkpointing tools do; what does not need it goes on: new code, threads,
// signals, children.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile sig_atomic_t signals;

static void handler(int number) { signals += number == SIGUSR1; }

static void* nothing(void* argument) { return argument; }

static void works(int value) {
  uint8_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint8_t bytes[] = {0xb8, (uint8_t)value, 0, 0, 0, 0xc3};
  memcpy(code, bytes, sizeof bytes);
  CHECK(((int (*)(void))(uintptr_t)code)() == value && munmap(code, 4096) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
  const int before = signals;
  CHECK(raise(SIGUSR1) == 0 && signals == before + 1);
  const pid_t child = fork();
  if (child == 0) _exit(value);
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == value);
}

int main(void) {
  signal(SIGUSR1, handler);
  uint8_t* start = NULL;
  size_t bytes = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  for (char line[512]; fgets(line, sizeof line, maps) != NULL;) {
    unsigned long from, to;
    if (strstr(line, "[vdso]") == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
    start = (uint8_t*)from, bytes = to - from;
  }
  fclose(maps);
  if (start == NULL) return finish();
  uint8_t* elsewhere = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(mremap(start, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) == elsewhere);
  works(77);
  CHECK(munmap(elsewhere, bytes) == 0);
  works(78);
  return finish();
}
