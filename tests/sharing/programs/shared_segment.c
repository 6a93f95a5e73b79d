/* Threads write to a System V segment. */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "start_together.h"

static volatile long* shared;

static void* work(void* argument) {
  const intptr_t t = (intptr_t)argument;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) shared[t]++; /* MARK */
  return 0;
}

int main(void) {
  const int segment = shmget(IPC_PRIVATE, 8192, 0600 | IPC_CREAT);
  void* const at = shmat(segment, 0, 0);
  shmctl(segment, IPC_RMID, 0);
  if (at == (void*)-1) return 1;
  shared = at;
  run_threads(work);
  printf("%ld\n", shared[0]);
}
