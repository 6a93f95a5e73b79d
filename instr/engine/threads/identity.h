// C-library identities for application threads. An identity is what a joinable pthread left behind: its thread control block, TLS and
// stack stay valid after its kernel thread has gone by a raw exit; an application thread adopts them while it is in the engine.
#pragma once

#include <atomic>
#include <cstdint>

namespace simrun::engine {

struct ThreadIdentity {
  uint64_t fs_base;
  uint64_t stack_top;                  // 16-byte aligned
  void* signal_stack;
  std::atomic<uint32_t> alive;         // futex, cleared by the kernel when the making thread is gone
  uint32_t released;                   // set by the last instructions of an application thread: free for another
  ThreadIdentity* next;
};

// The C library's first pthread_create installs a signal handler of its own: to be done before the application's actions count.
void make_first_identity();

// A released identity, or a new one; nullptr when the system has no room for a thread. Call with all signals blocked. Dispatcher only.
ThreadIdentity* take_identity();

// The identity of the engine's main, which has no thread to be made from. `stack_top`, `signal_stack` as in ThreadIdentity.
ThreadIdentity* own_identity(uint64_t stack_top, void* signal_stack);

// In a child of fork: its one thread keeps `mine`; all others are free.
void keep_only_identity(ThreadIdentity* mine);

}  // namespace simrun::engine
