// The engine's locks, over a fork: the child has only the forking thread, so what another thread holds would stay locked there and what it
// guards half-changed. Every lock is registered with its rank where it is defined; a thread takes locks in the order of their ranks, which
// debug builds check.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace simrun::engine {

enum class LockRank : uint8_t { kSafePoints, kViews, kTranslation, kIdentities, kActions, kLimits, kMemory };

// A mutex that notices when who holds it has been killed: a process that only shares the memory dies alone (docs/threads.md). What the
// lock guards is then half-changed, so the one that waits ends the program with a message (`g_long_wait`). Works before static objects
// are constructed.
class EngineLock {
 public:
  explicit constexpr EngineLock(LockRank rank) : rank_(rank) {}
  void lock();
  bool try_lock();
  void unlock();
  LockRank rank() const { return rank_; }
  uint64_t holder() const { return holder_.load(); }   // 0: nobody

 private:
  std::timed_mutex mutex_;
  const LockRank rank_;
  std::atomic<uint64_t> holder_{0};   // its FS base in the engine
};

// Called now and then by who waits for a lock, once it is set: dispatch/safe_points.h, check_holder.
extern void (*g_long_wait)(const EngineLock& lock);

// Beside the lock, as a static object of its file.
struct ForkLock {
  explicit ForkLock(EngineLock& lock);
};

// All locks: nothing guarded is half-changed in between. Dispatcher only, with in_cache 0, all signals blocked, and no lock held. The
// second also in the child of a fork.
void lock_for_fork();
void unlock_after_fork();
// The same with the stop of the world in force (dispatch/safe_points.h), which is the first of them.
void lock_with_world_stopped();
void unlock_with_world_stopped();

}  // namespace simrun::engine
