#include "instr/engine/threads/identity.h"

#include <linux/futex.h>
#include <pthread.h>

#include <mutex>

#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/thread_context.h"

namespace simrun::engine {
namespace {

constexpr size_t kEngineStackBytes = 512 * 1024;

EngineLock g_lock{LockRank::kIdentities};  // guards the list
const ForkLock g_fork_lock{g_lock};
ThreadIdentity* g_identities;        // all that were ever made

void* publish_and_leave(void* argument) {
  auto* identity = static_cast<ThreadIdentity*>(argument);
  identity->fs_base = word(__builtin_thread_pointer());
  char here;
  identity->stack_top = (word(&here) - 1024) & ~63ull;
  raw_syscall(SYS_set_tid_address, word(&identity->alive));
  for (;;) raw_syscall(SYS_exit, 0);
}

ThreadIdentity* make_identity() {
  auto* identity = new ThreadIdentity{};
  identity->alive.store(1);
  // The signal stack lies below the engine stack, in one mapping.
  void* stacks = map_engine_memory(kSignalStackBytes + kEngineStackBytes, MAP_NORESERVE);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  bool made = stacks != MAP_FAILED;
  if (made) {
    pthread_attr_setstack(&attributes, static_cast<char*>(stacks) + kSignalStackBytes, kEngineStackBytes);
    made = pthread_create(&thread, &attributes, &publish_and_leave, identity) == 0;
    if (!made) unmap_engine_memory(stacks, kSignalStackBytes + kEngineStackBytes);
  }
  pthread_attr_destroy(&attributes);
  if (!made) {
    delete identity;
    return nullptr;
  }
  // The kernel clears `alive` when the thread no longer uses its stack (CLONE_CHILD_CLEARTID, kernel/fork.c mm_release).
  while (identity->alive.load() != 0) raw_syscall(SYS_futex, word(&identity->alive), FUTEX_WAIT, 1, 0);
  identity->signal_stack = stacks;
  return identity;
}

}  // namespace

ThreadIdentity* take_identity() {
  const std::lock_guard lock(g_lock);
  for (ThreadIdentity* i = g_identities; i != nullptr; i = i->next)
    if (__atomic_load_n(&i->released, __ATOMIC_ACQUIRE) != 0) {
      i->released = 0;
      return i;
    }
  ThreadIdentity* identity = make_identity();
  if (identity == nullptr) return nullptr;
  identity->next = g_identities;
  g_identities = identity;
  return identity;
}

void make_first_identity() {
  const std::lock_guard lock(g_lock);
  g_identities = make_identity();
  if (g_identities != nullptr) g_identities->released = 1;
}

ThreadIdentity* own_identity(uint64_t stack_top, void* signal_stack) {
  auto* identity = new ThreadIdentity{};
  identity->fs_base = word(__builtin_thread_pointer());
  identity->stack_top = stack_top;
  identity->signal_stack = signal_stack;
  const std::lock_guard lock(g_lock);
  identity->next = g_identities;
  g_identities = identity;
  return identity;
}

void keep_only_identity(ThreadIdentity* mine) {
  for (ThreadIdentity* i = g_identities; i != nullptr; i = i->next) i->released = i != mine;
}

}  // namespace simrun::engine
