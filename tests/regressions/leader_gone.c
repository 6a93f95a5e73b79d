// build: -pthread
// The main thread has ended: /proc/self is a zombie's, the rest goes on, runs new code and takes signals.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static pthread_t leader;
static volatile int seen;
static void handler(int number) { (void)number; ++seen; }

static void* rest(void* p) {
  pthread_join(leader, NULL);
  unsigned char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, "\xb8\x2a\x00\x00\x00\xc3", 6);
  CHECK_EQUAL(((int (*)(void))code)(), 42);
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  CHECK_EQUAL(seen, 1);
  exit(finish());
  return p;
}

int main(void) {
  leader = pthread_self();
  pthread_t t;
  CHECK(pthread_create(&t, NULL, rest, NULL) == 0);
  pthread_exit(NULL);
}
