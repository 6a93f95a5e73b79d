// build: -O1
// Frames of megabytes, alloca, variable-length arrays, a stack that grows page by page to nearly its limit.
#include <alloca.h>
#include <sys/resource.h>

#include "tests/guest/guest.h"

__attribute__((noinline)) static long deep(int n) {
  volatile char frame[4000];
  frame[0] = n;
  frame[3999] = n + 1;
  return n == 0 ? 0 : deep(n - 1) + (unsigned char)(frame[3999] - frame[0]);
}

__attribute__((noinline)) static int big(void) {
  volatile char frame[5 << 20];
  for (int i = 0; i < 5 << 20; i += 4096) frame[i] = i >> 12;
  return frame[4096 * 77];
}

__attribute__((noinline)) static long variable(int n) {
  char vla[n];
  char* more = alloca(n);
  memset(vla, 1, n);
  memset(more, 2, n);
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += vla[i] + more[i];
  return sum;
}

int main(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
  printf("stack limit %lld\n", (long long)limit.rlim_cur);
  CHECK_EQUAL(deep(1500), 1500);
  CHECK_EQUAL(big(), 77);
  for (int i = 1; i < 2000; i += 13) CHECK_EQUAL(variable(i), 3 * i);
  return finish();
}
