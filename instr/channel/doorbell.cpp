#include "instr/channel/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void Doorbell::sleep(std::chrono::microseconds time_out) { futex_wait(sleeps_, 1, time_out); }

void Doorbell::ring() {
  if (sleeps_.exchange(0, std::memory_order_seq_cst) == 1) futex_wake_all(sleeps_);
}

}  // namespace simrun::channel
