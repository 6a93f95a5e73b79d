#include "instr/engine/dispatch/forget_paths.h"

#include <linux/futex.h>

#include <atomic>
#include <vector>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/instrument/ring_writer.h"

namespace simrun::engine {
namespace {

uint32_t g_last_ticket;   // while the world is stopped

bool change_state(ThreadContext* c, border::ThreadState from, border::ThreadState to) {
  auto expected = static_cast<uint32_t>(from);
  return c->ring.state.compare_exchange_strong(expected, static_cast<uint32_t>(to));
}

// A thread that was amid a superblock has an id that is not in its stream yet. It is on its way to the next look at whether the world is stopped.
void wait_for_cuts(ThreadContext* self) {
  for (uint32_t k = 0; k < g_process.header->slots_used.load(); ++k) {
    ThreadContext* const other = g_process.slot(k);
    while (other != self && other->cut_untold.load(std::memory_order_acquire) != 0 && !is_gone(other->tid) && !simulator_is_gone()) {
      const timespec moment{0, 100'000};
      raw_syscall(SYS_nanosleep, word(&moment), 0);
    }
  }
}

}  // namespace

void have_paths_forgotten(ThreadContext* self) {
  // The simulator waits for the words of threads that run. These have none before the world goes on, but for some that come out of the kernel.
  std::vector<ThreadContext*> waiting;
  const auto have_them_wait = [&] {
    for (uint32_t k = 0; k < g_process.header->slots_used.load(); ++k)
      if (ThreadContext* const c = g_process.slot(k); change_state(c, border::ThreadState::kRunning, border::ThreadState::kWaitingInEngine))
        waiting.push_back(c);
  };
  have_them_wait();
  wait_for_cuts(self);
  const uint32_t ticket = ++g_last_ticket;
  append_event(self, border::Event::kForgetPaths, {ticket});
  call_consumer();
  std::atomic<uint32_t>& forgotten = g_process.header->paths_forgotten;
  for (uint32_t seen; (seen = forgotten.load(std::memory_order_acquire)) < ticket && !simulator_is_gone(); have_them_wait()) {
    const timespec moment{0, 1'000'000};
    raw_syscall(SYS_futex, word(&forgotten), FUTEX_WAIT, seen, word(&moment));
  }
  for (ThreadContext* c : waiting) change_state(c, border::ThreadState::kWaitingInEngine, border::ThreadState::kRunning);
}

}  // namespace simrun::engine
