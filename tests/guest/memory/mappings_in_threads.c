// build: -pthread
// Threads that map, fill, run and unmap code: each is given addresses that another has just given back.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "tests/guest/guest.h"

enum { kThreads = 4, kRounds = 150 };

// mov eax, value; ret
static void make(unsigned char* at, int value) {
  const unsigned char code[6] = {0xb8, (unsigned char)value, (unsigned char)(value >> 8), 0, 0, 0xc3};
  memcpy(at, code, sizeof code);
}

static void* map_and_run(void* argument) {
  const int first = (int)(long)argument * kRounds;
  for (int k = first; k < first + kRounds; ++k) {
    unsigned char* const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    make(page + k % 4096, k);
    CHECK_EQUAL(mprotect(page, 8192, PROT_READ | PROT_EXEC), 0);
    CHECK_EQUAL(((int (*)(void))(page + k % 4096))(), k);
    CHECK_EQUAL(munmap(page, 8192), 0);
  }
  return NULL;
}

static void* attach_and_run(void* argument) {
  const int id = shmget(IPC_PRIVATE, 4096, 0700);
  unsigned char* code = shmat(id, NULL, 0);
  make(code, (int)(long)argument);
  shmdt(code);
  for (int k = 0; k < kRounds / 5; ++k) {
    code = shmat(id, NULL, SHM_EXEC | SHM_RDONLY);
    CHECK_EQUAL(((int (*)(void))code)(), (long)argument);
    CHECK_EQUAL(shmdt(code), 0);
  }
  shmctl(id, IPC_RMID, NULL);
  return NULL;
}

static void in_threads(void* (*work)(void*)) {
  pthread_t threads[kThreads];
  for (long k = 0; k < kThreads; ++k) CHECK_EQUAL(pthread_create(&threads[k], NULL, work, (void*)k), 0);
  for (int k = 0; k < kThreads; ++k) pthread_join(threads[k], NULL);
}

int main(void) {
  in_threads(map_and_run);
  in_threads(attach_and_run);
  return finish();
}
