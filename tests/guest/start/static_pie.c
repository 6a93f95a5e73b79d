// build: -static-pie -fPIE -pthread
// The same as static_no_pie.c, but a static program that relocates itself.
#include <pthread.h>

#include "tests/guest/guest.h"

static __thread int local = 3;

static void* work(void* x) {
  local += (intptr_t)x;
  return (void*)(intptr_t)local;
}

int main(void) {
  for (intptr_t i = 0; i < 20; ++i) {
    pthread_t thread;
    void* result;
    CHECK(pthread_create(&thread, NULL, work, (void*)i) == 0 && pthread_join(thread, &result) == 0);
    CHECK_EQUAL((intptr_t)result, i + 3);
  }
  CHECK_EQUAL(local, 3);
  char* text = malloc(10000);
  memset(text, 'a', 9999);
  text[9999] = 0;
  CHECK_EQUAL(strlen(text), 9999);
  printf("%d %s %.2f\n", 1, "two", 3.0);
  return finish();
}
