// A signal whose frame lies below the part of the main stack that was ever touched: the kernel grows the stack for it.
#include <signal.h>

#include "tests/guest/guest.h"

static volatile int seen;
static void handler(int number) { (void)number; ++seen; }

// Frames of 4 KiB, touched; at each depth a signal: soon one frame straddles the end of what is mapped.
static __attribute__((noinline)) int dig(int depth) {
  volatile char local[1500];
  local[0] = (char)depth;
  raise(SIGUSR1);
  return depth == 0 ? local[0] : dig(depth - 1) + local[0];
}

int main(void) {
  signal(SIGUSR1, handler);
  (void)dig(600);
  CHECK_EQUAL(seen, 601);
  return finish();
}
