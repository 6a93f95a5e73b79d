// Calls and returns and little else: naive Fibonacci numbers. Argument: which one.
#include <cstdio>
#include <cstdlib>

namespace {

[[gnu::noinline, gnu::optimize("no-optimize-sibling-calls", "no-inline")]] long fibonacci(long n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%ld\n", fibonacci(argc > 1 ? std::atol(argv[1]) : 30));
}
