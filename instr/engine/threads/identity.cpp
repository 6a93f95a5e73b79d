#include "instr/engine/threads/identity.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>

#include <mutex>

#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {
namespace {

constexpr size_t kEngineStackBytes = 512 * 1024;

std::mutex g_lock;                   // guards the list
ThreadIdentity* g_identities;        // all that were ever made

void* publish_and_leave(void* argument) {
  auto* identity = static_cast<ThreadIdentity*>(argument);
  asm volatile("rdfsbase %0" : "=r"(identity->fs_base));
  char here;
  identity->stack_top = (word(&here) - 1024) & ~63ull;
  raw_syscall(SYS_set_tid_address, word(&identity->alive));
  for (;;) raw_syscall(SYS_exit, 0);
}

ThreadIdentity* make_identity() {
  auto* identity = new ThreadIdentity{};
  identity->alive.store(1);
  void* stack = mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kEngineStackBytes);
  pthread_t thread;
  const bool made = stack != MAP_FAILED && pthread_create(&thread, &attributes, &publish_and_leave, identity) == 0;
  pthread_attr_destroy(&attributes);
  if (!made) {
    if (stack != MAP_FAILED) munmap(stack, kSignalStackBytes);
    delete identity;
    return nullptr;
  }
  // The kernel clears `alive` when the thread no longer uses its stack (CLONE_CHILD_CLEARTID, kernel/fork.c mm_release).
  while (identity->alive.load() != 0) raw_syscall(SYS_futex, word(&identity->alive), FUTEX_WAIT, 1, 0);
  identity->signal_stack = stack;
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

}  // namespace simrun::engine
