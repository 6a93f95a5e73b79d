#include "instr/engine/dispatch/safe_points.h"

#include <linux/futex.h>

#include <cerrno>

#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/instrument/ring_writer.h"

namespace simrun::engine {
namespace {

EngineLock g_stopper{LockRank::kSafePoints};  // one stop at a time; waiting for it happens with in_cache 0
const ForkLock g_fork_lock{g_stopper};
std::atomic<uint32_t> g_stopping{0};      // futex: 1 while a stop is in force
std::atomic<uint32_t> g_departures{0};    // futex: counts threads that left the code cache during a stop

// The thread that is in the engine with this FS base; null: none that has begun, or a helper of the engine's own.
ThreadContext* thread_at(uint64_t fs_base) {
  const uint32_t slots = g_process.header->slots_used.load();
  for (uint32_t k = 0; k < slots; ++k) {
    ThreadContext* thread = g_process.slot(k);
    const auto state = static_cast<border::ThreadState>(thread->ring.state.load());
    const bool lives = state != border::ThreadState::kFree && state != border::ThreadState::kStarting && state != border::ThreadState::kDead;
    if (lives && thread->engine_fs_base == fs_base) return thread;
  }
  return nullptr;
}

// Only where the asking thread's kernel knows the other's number.
bool has_ended(const ThreadContext* asking, const ThreadContext* other) {
  return asking->pid_namespace == other->pid_namespace && is_gone(other->tid);
}

}  // namespace

void check_holder(const EngineLock& lock) {
  const uint64_t holder = lock.holder();
  const ThreadContext* const thread = thread_at(holder);
  const ThreadContext* const waiting = thread_at(reinterpret_cast<uint64_t>(__builtin_thread_pointer()));
  if (thread == nullptr || waiting == nullptr) return;
  const uint32_t tid = thread->tid;
  if (!has_ended(waiting, thread)) return;
  // Not one that gave the lock back before it ended, nor the next one with its identity.
  if (lock.holder() == holder && thread_at(holder) == thread && thread->tid == tid)
    fail("process %u, which shares this program's memory, was killed while it held a lock of the engine; simrun cannot go on", tid);
}

void request_stop(ThreadContext* thread) {
  thread->limit.store(0, std::memory_order_seq_cst);
  thread->minus_limit.store(0, std::memory_order_seq_cst);
  thread->indirect_mask.store(0, std::memory_order_seq_cst);
}

namespace {

constexpr uint64_t kForEver = ~uint64_t{0};
constexpr int kWakeUpSignal = SIGILL;    // of a fault: always handled by the engine, never blocked
constexpr int kWakeUpCode = -0x5352;     // nobody's
constexpr uint32_t kLooksBeforeWakeUp = 5;

void wake_up(const ThreadContext* self, const ThreadContext* other) {
  if (self->pid_namespace != other->pid_namespace) return;
  siginfo_t info{};
  info.si_signo = kWakeUpSignal;
  info.si_code = kWakeUpCode;
  info.si_value.sival_ptr = &g_stopping;
  raw_syscall(SYS_rt_tgsigqueueinfo, static_cast<uint64_t>(raw_syscall(SYS_getpid)), other->tid, kWakeUpSignal, word(&info));
}

uint64_t milliseconds_now() {
  timespec now{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, word(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

// With the lock held. Until resume_world; false: some have not come within so many milliseconds (0: nobody is waited for).
bool stop_others(ThreadContext* self, uint64_t milliseconds) {
  g_stopping.store(1, std::memory_order_seq_cst);
  uint64_t deadline = 0;
  bool all = true;
  const uint32_t slots = g_process.header->slots_used.load(std::memory_order_seq_cst);
  for (uint32_t k = 0; k < slots; ++k) {
    ThreadContext* other = g_process.slot(k);
    if (other == self) continue;
    uint32_t looks = 0;
    for (;;) {
      const uint32_t seen = g_departures.load(std::memory_order_seq_cst);
      if (other->in_cache.load(std::memory_order_seq_cst) == 0) break;
      request_stop(other);
      if (milliseconds == 0) {
        all = false;
        break;
      }
      // The time-out covers a thread that restored its limit just before it looked at g_stopping.
      const timespec timeout{0, 1'000'000};
      const bool timed_out = raw_syscall(SYS_futex, word(&g_departures), FUTEX_WAIT_PRIVATE, seen, word(&timeout)) == -ETIMEDOUT;
      // A process that shares this memory is killed alone, wherever it is.
      if (timed_out && has_ended(self, other)) other->in_cache.store(0, std::memory_order_seq_cst);
      if (timed_out && g_process.user_faults && ++looks % kLooksBeforeWakeUp == 0) wake_up(self, other);
      if (milliseconds == kForEver) continue;
      if (deadline == 0) deadline = milliseconds_now() + milliseconds;
      if (milliseconds_now() > deadline) return false;   // not by what has timed out: signals interrupt it
    }
  }
  return all;
}

}  // namespace

bool is_wake_up(int number, const siginfo_t& info) {
  return number == kWakeUpSignal && info.si_code == kWakeUpCode && info.si_value.sival_ptr == &g_stopping;
}

void stop_world(ThreadContext* self) { try_stop_world(self, kForEver); }

bool try_stop_world(ThreadContext* self, uint64_t milliseconds) {
  g_stopper.lock();
  const bool stopped = stop_others(self, milliseconds);
  if (!stopped) resume_world();
  return stopped;
}

void have_others_publish(ThreadContext* self) {
  constexpr uint64_t kPatience = 300;   // milliseconds: a full machine may let each wait for its turn
  if (g_process.header->mode == border::Mode::kNull || !g_stopper.try_lock()) return;
  if (!stop_others(self, self->waited_in_vain != 0 ? 0 : kPatience)) self->waited_in_vain = 1;
  for (uint32_t k = 0; k < g_process.header->slots_used.load(); ++k)
    if (ThreadContext* thread = g_process.slot(k); thread->in_cache.load() == 0) thread->published.store(1, std::memory_order_release);
  resume_world();
}

void forget_published() {
  for (uint32_t k = 0; k < g_process.header->slots_used.load(); ++k) g_process.slot(k)->published.store(0, std::memory_order_relaxed);
}

void resume_world() {
  g_stopping.store(0, std::memory_order_seq_cst);
  raw_syscall(SYS_futex, word(&g_stopping), FUTEX_WAKE_PRIVATE, 1u << 30);
  g_stopper.unlock();
}

void enter_cache_state(ThreadContext* self) {
  for (;;) {
    // Looked at before, too: who has come out for a stop stays out all the time, and may be halted there (syscalls/halt_sharer.h).
    while (g_stopping.load(std::memory_order_seq_cst) != 0) {
      const timespec timeout{0, 100'000'000};
      raw_syscall(SYS_futex, word(&g_stopping), FUTEX_WAIT_PRIVATE, 1, word(&timeout));
      check_holder(g_stopper);
    }
    self->in_cache.store(1, std::memory_order_seq_cst);
    if (g_stopping.load(std::memory_order_seq_cst) == 0) return;
    leave_cache_state(self);
  }
}

void leave_cache_state(ThreadContext* self) {
  publish_words(self);
  self->in_cache.store(0, std::memory_order_seq_cst);
  if (g_stopping.load(std::memory_order_seq_cst) == 0) return;
  g_departures.fetch_add(1, std::memory_order_seq_cst);
  raw_syscall(SYS_futex, word(&g_departures), FUTEX_WAKE_PRIVATE, 1u << 30);
}

}  // namespace simrun::engine
