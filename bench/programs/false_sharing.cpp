// Threads that increment counters of their own, side by side in one or two lines; arguments: threads, increments.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

alignas(64) std::atomic<uint64_t> counters[16];

// A load and a store, no locked instruction: the line moves, the program does not wait for the bus.
void count(std::atomic<uint64_t>& counter, long increments) {
  for (long i = 0; i < increments; ++i)
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const long increments = argc > 2 ? std::atol(argv[2]) : 1;
  if (threads < 1 || threads > 16) return 2;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(count, std::ref(counters[t]), increments);
  for (std::thread& worker : workers) worker.join();
  uint64_t sum = 0;
  for (const auto& counter : counters) sum += counter.load();
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
