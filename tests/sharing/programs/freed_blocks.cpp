// Pairs of small objects of two allocation sites that lie in one line, freed long before the end; in code of a library
// that is unloaded before the end. With padding none.
#include <dlfcn.h>

#include "start_together.h"

using Work = void (*)(volatile long*, long);

static volatile long* made[THREADS];
static Work add;

#ifdef PADDED
constexpr size_t kBytes = 128;
#else
constexpr size_t kBytes = 8;
#endif

__attribute__((noinline)) static volatile long* make_first() {
  return reinterpret_cast<long*>(new char[kBytes]);
}  // FIRST
__attribute__((noinline)) static volatile long* make_second() {
  return reinterpret_cast<long*>(malloc(kBytes));
}  // SECOND

static void* work(void* argument) {
  const auto t = reinterpret_cast<intptr_t>(argument);
  pthread_barrier_wait(&start);
  if (t < 2) add(made[t], ROUNDS);
  return nullptr;
}

int main(int, char** argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s", argv[1]);
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return 1;
  add = reinterpret_cast<Work>(dlsym(library, "add_often"));
  // Neighbours: the allocator gives out one after the other. Until two are in one line.
  for (int i = 0; i < 100; ++i) {
    made[0] = make_first();
    made[1] = make_second();
    if (reinterpret_cast<uintptr_t>(made[0]) / 64 == reinterpret_cast<uintptr_t>(made[1]) / 64 || kBytes > 64) break;
    made[1] = make_second();  // the next pair starts elsewhere
  }
  *made[0] = 0;
  *made[1] = 0;
  run_threads(work);
  printf("%ld\n", *made[0] + *made[1]);
  delete[] reinterpret_cast<volatile char*>(made[0]);
  free(const_cast<long*>(made[1]));
  dlclose(library);
  // The same memory again for something else.
  for (int i = 0; i < 200; ++i) memset(malloc(kBytes), 1, kBytes);
}
