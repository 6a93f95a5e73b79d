// A threaded-code interpreter: every operation ends in an indirect jump of its own.
#include "tests/guest/guest.h"

enum { kPush, kAdd, kSubtract, kMultiply, kDuplicate, kSwap, kJumpIfNotZero, kPrint, kHalt };

static uint64_t run(const int* code) {
  static const void* const labels[] = {&&push, &&add,  &&subtract, &&multiply, &&duplicate,
                                       &&swap, &&jump, &&print,    &&halt};
  uint64_t stack[64], *top = stack, hash = 0;
  const int* pc = code;
#define NEXT goto* labels[*pc++]
  NEXT;
push:
  *++top = *pc++;
  NEXT;
add:
  top[-1] += top[0];
  --top;
  NEXT;
subtract:
  top[-1] -= top[0];
  --top;
  NEXT;
multiply:
  top[-1] *= top[0];
  --top;
  NEXT;
duplicate:
  top[1] = top[0];
  ++top;
  NEXT;
swap : {
  const uint64_t t = top[0];
  top[0] = top[-1];
  top[-1] = t;
}
  NEXT;
jump : {
  const int target = *pc++;
  if (*top) pc = code + target;
}
  NEXT;
print:
  hash = mix(hash, *top--);
  NEXT;
halt:
  return hash ^ *top;
}

int main(void) {
  // x = 1; for (n = 30000; n; --n) { x = x * 3 + 7; print n }; the result is x.
  const int code[] = {kPush,      1,      kPush, 30000, kSwap,     kPush,          3, kMultiply, kPush, 7, kAdd, kSwap,
                      kDuplicate, kPrint, kPush, 1,     kSubtract, kJumpIfNotZero, 4, kPrint,    kHalt};
  printf("%016llx\n", (unsigned long long)run(code));
  return finish();
}
