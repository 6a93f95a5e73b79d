// One thread fills batches, another empties them, through a bounded queue with a mutex and two conditions.
// Argument: batches.
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

namespace {

using Batch = std::array<uint64_t, 512>;
constexpr size_t kCapacity = 64;

struct Queue {
  std::mutex mutex;
  std::condition_variable not_full, not_empty;
  std::deque<Batch> batches;
};

void produce(Queue& queue, long batches) {
  uint64_t state = 1;
  for (long n = 0; n < batches; ++n) {
    Batch batch;
    for (uint64_t& word : batch) word = state = state * 6364136223846793005 + 1442695040888963407;
    std::unique_lock lock(queue.mutex);
    queue.not_full.wait(lock, [&] { return queue.batches.size() < kCapacity; });
    queue.batches.push_back(batch);
    queue.not_empty.notify_one();
  }
}

uint64_t consume(Queue& queue, long batches) {
  uint64_t sum = 0;
  for (long n = 0; n < batches; ++n) {
    std::unique_lock lock(queue.mutex);
    queue.not_empty.wait(lock, [&] { return !queue.batches.empty(); });
    const Batch batch = queue.batches.front();
    queue.batches.pop_front();
    queue.not_full.notify_one();
    lock.unlock();
    for (const uint64_t word : batch) sum = (sum ^ word) * 31;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const long batches = argc > 1 ? std::atol(argv[1]) : 1;
  Queue queue;
  std::thread producer(produce, std::ref(queue), batches);
  const uint64_t sum = consume(queue, batches);
  producer.join();
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
