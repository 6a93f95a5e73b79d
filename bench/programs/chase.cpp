// Pointer chase: one cycle through 8 MiB of 64-byte nodes in random order, each load waiting for the last.
// Argument: steps.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

struct alignas(64) Node {
  Node* next;
  uint64_t value;
};

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 1;
  constexpr size_t kNodes = size_t{8} << 20 >> 6;
  std::vector<Node> nodes(kNodes);
  std::vector<uint32_t> order(kNodes);
  for (size_t i = 0; i < kNodes; ++i) order[i] = static_cast<uint32_t>(i);
  uint64_t state = 12345;
  for (size_t i = kNodes - 1; i > 0; --i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    std::swap(order[i], order[(state >> 33) % (i + 1)]);
  }
  for (size_t i = 0; i < kNodes; ++i) nodes[order[i]] = {&nodes[order[(i + 1) % kNodes]], i};
  uint64_t sum = 0;
  const Node* at = &nodes[0];
  for (long step = 0; step < steps; ++step, at = at->next) sum += at->value;
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
