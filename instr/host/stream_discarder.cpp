#include "instr/host/stream_discarder.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace simrun::host {

namespace {

using border::ThreadState;

void wake(std::atomic<uint32_t>& futex) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&futex), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// What the process may wait for simrun to do: its rings are emptied, nothing new is followed, nobody looks at mappings.
void serve(Target& target) {
  border::ProcessHeader& h = target.header();
  for (uint32_t k = 0; k < h.slots_used; ++k) {
    border::ThreadSlotRing& ring = target.slot(k).ring;
    if (ring.state.load() == static_cast<uint32_t>(ThreadState::kFree)) continue;
    ring.consumed.store(ring.produced.load());
    if (ring.producer_sleeps.exchange(0) != 0) wake(ring.producer_sleeps);
  }
  for (std::atomic<uint32_t>* done : {&h.mappings_read, &h.paths_forgotten})
    if (done->exchange(UINT_MAX) != UINT_MAX) wake(*done);
  for (border::FollowRequest& r : h.requests) {
    auto posted = static_cast<uint32_t>(border::FollowState::kPosted);
    if (r.state.compare_exchange_strong(posted, static_cast<uint32_t>(border::FollowState::kRefused))) wake(r.state);
  }
}

}  // namespace

StreamDiscarder::StreamDiscarder(Target& target)
    : thread_([this, &target] {
        for (; !done_; usleep(1000)) serve(target);
      }) {}

StreamDiscarder::~StreamDiscarder() {
  done_ = true;
  thread_.join();
}

}  // namespace simrun::host
