// build: -O1 -fno-inline -fno-optimize-sibling-calls
// Deep and wide recursion: Fibonacci, Ackermann, mutual recursion, tree walks.
#include "tests/guest/guest.h"

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
static int is_odd(int n);
static int is_even(int n) { return n == 0 || is_odd(n - 1); }
static int is_odd(int n) { return n != 0 && is_even(n - 1); }

struct Tree {
  struct Tree *left, *right;
  int value;
};

static struct Tree* grow(int depth, int value) {
  if (depth == 0) return NULL;
  struct Tree* t = malloc(sizeof *t);
  *t = (struct Tree){grow(depth - 1, 2 * value), grow(depth - 1, 2 * value + 1), value};
  return t;
}

static long total(const struct Tree* t) { return t ? t->value + total(t->left) + total(t->right) : 0; }

int main(void) {
  CHECK_EQUAL(fib(21), 10946);
  CHECK_EQUAL(ackermann(2, 60), 123);
  CHECK_EQUAL(ackermann(3, 4), 125);
  CHECK(is_even(20000) && !is_even(20001));
  CHECK_EQUAL(total(grow(12, 1)), 4095L * 4096 / 2);
  return finish();
}
