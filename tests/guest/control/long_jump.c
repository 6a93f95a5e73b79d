// build: -Wno-infinite-recursion
// longjmp out of nested calls, thousands of times: the frames that were left never return.
#include <setjmp.h>

#include "tests/guest/guest.h"

static jmp_buf target;

__attribute__((noinline)) static int dive(int depth, int value) {
  volatile int here = depth;
  if (depth == 0) longjmp(target, value);
  return depth > 0 ? dive(depth - 1, value) + here : 0;
}

int main(void) {
  volatile uint64_t sum = 0;
  for (volatile int i = 1; i < 3000; ++i) {
    const int got = setjmp(target);
    if (got == 0) dive(i % 37, i);
    CHECK_EQUAL(got, i);
    sum += got;
  }
  CHECK_EQUAL(sum, 2999 * 3000 / 2);
  return finish();
}
