#include "instr/engine/context/fork_locks.h"

#include <chrono>
#include <cstddef>

#include "base/check.h"

namespace simrun::engine {
namespace {

constexpr size_t kRanks = static_cast<size_t>(LockRank::kMemory) + 1;

// One lock a rank. Constant-initialised: the static objects that register themselves come in any order.
EngineLock* g_locks[kRanks];

uint64_t own_fs_base() { return reinterpret_cast<uint64_t>(__builtin_thread_pointer()); }

// What this thread holds, a bit a rank. The child of a fork has its parent's.
#ifdef NDEBUG
void note_taken(LockRank) {}
void note_released(LockRank) {}
void check_order(LockRank) {}
#else
thread_local uint32_t t_held;
uint32_t bit(LockRank rank) { return 1u << static_cast<unsigned>(rank); }
void note_taken(LockRank rank) { t_held |= bit(rank); }
void note_released(LockRank rank) {
  CHECK((t_held & bit(rank)) != 0);
  t_held &= ~bit(rank);
}
void check_order(LockRank rank) { CHECK(t_held < bit(rank)); }
#endif

}  // namespace

void (*g_long_wait)(const EngineLock& lock);

void EngineLock::lock() {
  check_order(rank_);
  if (!mutex_.try_lock())   // the timed way asks for the time first, by a system call here
    while (!mutex_.try_lock_for(std::chrono::milliseconds(100)))
      if (g_long_wait != nullptr) g_long_wait(*this);
  holder_.store(own_fs_base(), std::memory_order_relaxed);
  note_taken(rank_);
}

bool EngineLock::try_lock() {
  if (!mutex_.try_lock()) return false;
  holder_.store(own_fs_base(), std::memory_order_relaxed);
  note_taken(rank_);
  return true;
}

void EngineLock::unlock() {
  note_released(rank_);
  holder_.store(0, std::memory_order_relaxed);
  mutex_.unlock();
}

ForkLock::ForkLock(EngineLock& lock) {
  EngineLock*& place = g_locks[static_cast<size_t>(lock.rank())];
  CHECK(place == nullptr);
  place = &lock;
}

void lock_for_fork() {
  g_locks[0]->lock();
  lock_with_world_stopped();
}

void unlock_after_fork() {
  unlock_with_world_stopped();
  g_locks[0]->unlock();
}

void lock_with_world_stopped() {
  static_assert(LockRank{} == LockRank::kSafePoints);
  for (size_t k = 1; k < kRanks; ++k) g_locks[k]->lock();
}

void unlock_with_world_stopped() {
  for (size_t k = kRanks; k-- > 1;) g_locks[k]->unlock();
}

}  // namespace simrun::engine
