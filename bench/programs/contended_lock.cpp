// Threads that take one lock over and over. Arguments: mutex (of the library) or spin (tries for a while, then sleeps
// in futex), threads, times each takes it.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

// 0: free, 1: taken, 2: taken, and somebody may sleep.
class SpinLock {
 public:
  void lock() {
    for (int tries = 0; tries < 100; ++tries) {
      uint32_t free = 0;
      if (state_.compare_exchange_weak(free, 1, std::memory_order_acquire)) return;
      __builtin_ia32_pause();
    }
    while (state_.exchange(2, std::memory_order_acquire) != 0) syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, 2, nullptr);
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2) syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  std::atomic<uint32_t> state_ = 0;
};

struct Shared {
  uint64_t sum = 0;
  uint64_t cells[32] = {};
};

template <typename Lock>
uint64_t run(int threads, long times) {
  Lock lock;
  Shared shared;
  const auto work = [&](int self) {
    uint64_t state = static_cast<uint64_t>(self) + 1;
    for (long i = 0; i < times; ++i) {
      for (int k = 0; k < 20; ++k) state = state * 6364136223846793005 + 1442695040888963407;
      const std::lock_guard held(lock);
      shared.cells[state >> 59] += state;
      shared.sum += state;
    }
  };
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(work, t);
  for (std::thread& worker : workers) worker.join();
  for (const uint64_t cell : shared.cells) shared.sum = shared.sum * 31 + cell;
  return shared.sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int threads = std::atoi(argv[2]);
  const long times = std::atol(argv[3]);
  const uint64_t sum = std::strcmp(argv[1], "spin") == 0 ? run<SpinLock>(threads, times) : run<std::mutex>(threads, times);
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
