// build: -fsanitize=thread -pthread
// A program with ThreadSanitizer's run-time library in it: it reserves most of the address space for itself, takes over threads and
// signals.
#include <pthread.h>

#include "tests/guest/guest.h"

static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* add(void* unused) {
  (void)unused;
  for (int k = 0; k < 50; ++k) {
    char* memory = malloc(1000);
    pthread_mutex_lock(&lock);
    memory[k] = 1;
    total += memory[k];
    pthread_mutex_unlock(&lock);
    free(memory);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (int k = 0; k < 3; ++k) CHECK_EQUAL(pthread_create(&threads[k], NULL, add, NULL), 0);
  for (int k = 0; k < 3; ++k) pthread_join(threads[k], NULL);
  CHECK_EQUAL(total, 150);
  return finish();
}
