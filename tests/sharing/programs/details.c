/* For check_details.py: threads fight over a variable that another one shares its line with, over a small block of the heap, and in a library
   that is unloaded at the end. */
#include <dlfcn.h>

#include "start_together.h"

__attribute__((section("neighbours"), aligned(64))) volatile long quiet[2] = {1, 1};
__attribute__((section("neighbours"))) volatile long contended[6];
static volatile long* block;
static void (*add_often)(volatile long* counter, long rounds);

static void* fight(void* thread) {
  const intptr_t t = (intptr_t)thread;
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) ++contended[t];
  pthread_barrier_wait(&start);
  for (int i = 0; i < ROUNDS; ++i) ++block[t];
  pthread_barrier_wait(&start);
  add_often(&block[t], 2 * ROUNDS);
  return NULL;
}

int main(int count, char** words) {
  void* library = dlopen(words[count - 1], RTLD_NOW);
  if (library == NULL) return 1;
  add_often = (void (*)(volatile long*, long))dlsym(library, "add_often");
  block = calloc(THREADS, sizeof(long));
  run_threads(fight);
  ++quiet[1]; /* the last miss of that line, and no more */
  dlclose(library);
  return quiet[0] == 1 ? 0 : 1;
}
