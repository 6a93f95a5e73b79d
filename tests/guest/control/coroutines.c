// swapcontext between stacks of our own, two generators at a time.
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kStack = 64 * 1024 };
static ucontext_t main_context, contexts[2];
static int yielded[2], finished[2];
static char stacks[2][kStack] __attribute__((aligned(16)));

static void generate(int id, int step) {
  for (int i = 0; i < 500; ++i) {
    yielded[id] = i * step;
    swapcontext(&contexts[id], &main_context);
  }
  finished[id] = 1;
}

int main(void) {
  for (int id = 0; id < 2; ++id) {
    getcontext(&contexts[id]);
    contexts[id].uc_stack.ss_sp = stacks[id];
    contexts[id].uc_stack.ss_size = kStack;
    contexts[id].uc_link = &main_context;
    makecontext(&contexts[id], (void (*)(void))generate, 2, id, id + 3);
  }
  long sum = 0;
  for (int i = 0; i <= 500; ++i)
    for (int id = 0; id < 2; ++id) {
      swapcontext(&main_context, &contexts[id]);
      sum += yielded[id];
    }
  CHECK(finished[0] && finished[1]);
  CHECK_EQUAL(sum, 7 * (499 * 500 / 2 + 499));
  return finish();
}
