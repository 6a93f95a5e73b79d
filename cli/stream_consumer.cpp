#include "cli/stream_consumer.h"

#include <csignal>
#include <ctime>

namespace simrun::cli {

namespace {

constexpr uint32_t kDetached = 2, kFailed = 3;  // ProcessHeader::engine_state

}  // namespace

bool StreamConsumer::writes() {
  if (!target_.running()) {
    if (signals_at_end_ < 0) signals_at_end_ = signals_seen();
    return false;
  }
  const uint32_t state = process_.header().engine_state.load(std::memory_order_acquire);
  return state != kDetached && state != kFailed;
}

// The user is impatient: the program is gone and here is another signal, while a backlog is simulated.
bool StreamConsumer::given_up(bool alive, RunResult& result) const {
  if (alive || signals_at_end_ < 0 || signals_seen() == signals_at_end_) return false;
  result.error = "interrupted before the whole stream was simulated";
  return true;
}

void StreamConsumer::nap(std::chrono::microseconds time) {
  const timespec t{0, static_cast<long>(time.count()) * 1000};
  nanosleep(&t, nullptr);
}

void StreamConsumer::show(const std::vector<channel::ThreadReport>& threads) {
  channel::ThreadStatistics sum;
  uint64_t living = 0;
  for (const auto& thread : threads) {
    sum += thread.statistics;
    living += thread.ended ? 0 : 1;
  }
  progress_.show(sum.instructions, sum.loads + sum.stores, living);
}

void StreamConsumer::drain(RunResult& result) {
  channel::Drain drain(process_);
  try {
    loop([&](bool alive) { return drain.advance(alive); }, [] {}, [] { return false; }, result);
  } catch (const channel::StreamError& error) {
    // Not even the rings' numbers hold: nothing can keep the program from blocking on a full ring.
    result.error += fmt::format("{}{}; the program was killed", result.error.empty() ? "" : "; then ", error.what());
    target_.forward_signal(SIGKILL);
  }
  while (target_.running()) nap(std::chrono::milliseconds(10));
  result.drained_words = drain.words();
}

}  // namespace simrun::cli
