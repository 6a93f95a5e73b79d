// How the consumer sleeps. One word in the shared mapping of each process (ProcessHeader::consumer_sleeps) says so while it does; who
// has news exchanges it for kConsumerRuns and wakes. The futexes are shared ones: both sides map the same memory file at different addresses.
//
//   bell.arm(); look once more for work; if there is none: bell.sleep(time-out); bell.disarm();
//
// Looking again after arm() closes the window in which news would be missed (both sides store, fence, load). From a nap, arm(kConsumerNaps),
// only who waits for the consumer wakes it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "instr/border/shared_memory.h"

namespace simrun::channel {

class Doorbell {
 public:
  Doorbell() = default;
  explicit Doorbell(std::atomic<uint32_t>& sleeps) { add(sleeps); }
  // The words of processes; not while armed.
  void add(std::atomic<uint32_t>& sleeps) { words_.push_back(&sleeps); }
  void remove(std::atomic<uint32_t>& sleeps) { std::erase(words_, &sleeps); }

  void arm(uint32_t rest = border::kConsumerSleeps);
  void disarm();
  // Until one is rung, a signal or the time-out. Where one thread cannot wait for so many words (before Linux 5.16, in a container whose
  // seccomp profile is older than that, or beyond 127), no longer than a millisecond.
  void sleep(std::chrono::microseconds time_out);

  // Wakes the sleeper if there is one. Any time, also in a signal handler of the sleeping thread itself.
  void ring();

 private:
  std::atomic<uint32_t> own_{border::kConsumerRuns};   // for ring()
  uint32_t rest_ = border::kConsumerRuns;              // as armed
  bool can_wait_for_many_ = true;                      // not until the kernel refused
  std::vector<std::atomic<uint32_t>*> words_;
};

// What a producer does: wakes the consumer if it sleeps on `word`.
void ring(std::atomic<uint32_t>& word);

// Sleeps while `word` is `expected`; returns on a wake-up, a signal, the time-out or spuriously.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, std::chrono::microseconds time_out);
void futex_wake_all(std::atomic<uint32_t>& word);

}  // namespace simrun::channel
