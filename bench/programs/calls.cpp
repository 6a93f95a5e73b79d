// Indirect calls, virtual calls and returns, with targets that change from call to call; argument: rounds.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual uint64_t area(uint64_t x) const = 0;
};
struct Square : Shape {
  uint64_t area(uint64_t x) const override { return x * x; }
};
struct Strip : Shape {
  uint64_t area(uint64_t x) const override { return x * 3; }
};
struct Corner : Shape {
  uint64_t area(uint64_t x) const override { return x + 7; }
};

[[gnu::noinline]] uint64_t fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
[[gnu::noinline]] uint64_t rotate(uint64_t x) { return x << 7 | x >> 57; }
[[gnu::noinline]] uint64_t scatter(uint64_t x) { return x * 0x9e3779b97f4a7c15; }
[[gnu::noinline]] uint64_t fold(uint64_t x) { return x ^ x >> 29; }

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const Square square;
  const Strip strip;
  const Corner corner;
  const Shape* const shapes[] = {&square, &strip, &corner, &square};
  uint64_t (*const steps[])(uint64_t) = {rotate, scatter, fold, scatter};
  uint64_t sum = 1;
  for (uint64_t i = 0; i < rounds; ++i) {
    sum = steps[sum >> 13 & 3](sum + i);
    sum += shapes[i & 3]->area(sum);
    if ((i & 1023) == 0) sum += fibonacci(15);
  }
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
