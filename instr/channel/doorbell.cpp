#include "instr/channel/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

namespace simrun::channel {

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, std::chrono::microseconds time_out) {
  timespec limit{static_cast<time_t>(time_out.count() / 1'000'000),
                 static_cast<long>(time_out.count() % 1'000'000 * 1000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  int saved = errno;  // callable in a signal handler
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  errno = saved;
}

void Doorbell::arm(uint32_t rest) {
  rest_ = rest;
  own_.store(rest, std::memory_order_seq_cst);
  for (auto* word : words_) word->store(rest, std::memory_order_seq_cst);
}

void Doorbell::disarm() {
  own_.store(border::kConsumerRuns, std::memory_order_relaxed);
  for (auto* word : words_) word->store(border::kConsumerRuns, std::memory_order_relaxed);
}

void Doorbell::sleep(std::chrono::microseconds time_out) {
  std::array<futex_waitv, FUTEX_WAITV_MAX> waiters{};
  if (can_wait_for_many_ && words_.size() < waiters.size()) {
    size_t count = 0;
    const auto wait_for = [&](std::atomic<uint32_t>& word) {
      waiters[count++] = {rest_, reinterpret_cast<uint64_t>(&word), FUTEX_32, 0};
    };
    wait_for(own_);
    for (auto* word : words_) wait_for(*word);
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const auto nanoseconds = until.tv_nsec + time_out.count() % 1'000'000 * 1000;
    until.tv_sec += time_out.count() / 1'000'000 + nanoseconds / 1'000'000'000;
    until.tv_nsec = nanoseconds % 1'000'000'000;
    if (syscall(SYS_futex_waitv, waiters.data(), count, 0, &until, CLOCK_MONOTONIC) >= 0) return;
    if (errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT) return;
    // ENOSYS, EPERM, whatever a filter of system calls has for those it does not know: it would not have slept next time either.
    can_wait_for_many_ = false;
  }
  futex_wait(own_, rest_, std::min(time_out, std::chrono::microseconds{1000}));
}

void Doorbell::ring() { channel::ring(own_); }

void ring(std::atomic<uint32_t>& word) {
  if (word.exchange(border::kConsumerRuns, std::memory_order_seq_cst) != border::kConsumerRuns) futex_wake_all(word);
}

}  // namespace simrun::channel
