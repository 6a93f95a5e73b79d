#include "instr/engine/context/fork_locks.h"

#include <cstddef>

#include "base/check.h"

namespace simrun::engine {
namespace {

constexpr size_t kRanks = static_cast<size_t>(LockRank::kMemory) + 1;

// One lock a rank. Constant-initialised: the static objects that register themselves come in any order.
std::mutex* g_locks[kRanks];

}  // namespace

ForkLock::ForkLock(std::mutex& lock, LockRank rank) {
  std::mutex*& place = g_locks[static_cast<size_t>(rank)];
  CHECK(place == nullptr);
  place = &lock;
}

void lock_for_fork() {
  for (std::mutex* lock : g_locks) lock->lock();
}

void unlock_after_fork() {
  for (size_t k = kRanks; k-- > 0;) g_locks[k]->unlock();
}

}  // namespace simrun::engine
