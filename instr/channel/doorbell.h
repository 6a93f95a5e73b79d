// How the consumer sleeps. One word in the shared mapping (ProcessHeader::consumer_sleeps) is 1 while it does; who has
// news exchanges it for 0 and wakes. The futexes are shared ones: both sides map the same memfd at different addresses.
//
//   bell.arm(); look once more for work; if there is none: bell.sleep(time-out); bell.disarm();
//
// Looking again after arm() closes the window in which news would be missed (both sides store, fence, load).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace simrun::channel {

class Doorbell {
 public:
  explicit Doorbell(std::atomic<uint32_t>& sleeps) : sleeps_(sleeps) {}

  void arm() { sleeps_.store(1, std::memory_order_seq_cst); }
  void disarm() { sleeps_.store(0, std::memory_order_relaxed); }
  // Until rung, a signal or the time-out.
  void sleep(std::chrono::microseconds time_out);

  // Wakes the sleeper if there is one. Any time, also in a signal handler of the sleeping thread itself.
  void ring();

 private:
  std::atomic<uint32_t>& sleeps_;
};

// Sleeps while `word` is `expected`; returns on a wake-up, a signal, the time-out or spuriously.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, std::chrono::microseconds time_out);
void futex_wake_all(std::atomic<uint32_t>& word);

}  // namespace simrun::channel
