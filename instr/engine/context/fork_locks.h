// The engine's locks, over a fork: the child has only the forking thread, so what another thread holds would stay locked there and what it
// guards half-changed. Every lock is registered with its rank where it is defined; a thread takes locks in the order of their ranks.
#pragma once

#include <mutex>

namespace simrun::engine {

enum class LockRank { kSafePoints, kViews, kTranslation, kIdentities, kActions, kLimits, kMemory };

// Beside the lock, as a static object of its file.
struct ForkLock {
  ForkLock(std::mutex& lock, LockRank rank);

};

// Dispatcher only, with in_cache 0, all signals blocked, and no lock held. The second also in the child.
void lock_for_fork();
void unlock_after_fork();

}  // namespace simrun::engine
