// Threads and processes that the application makes. Each application thread runs under a C-library identity of its own in the engine
// (identity.h); children of fork and vfork go on natively.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"
#include "instr/engine/signals/signals.h"

namespace simrun::engine {

// False: a signal comes first, nothing happened.
bool do_clone(ThreadContext* context);
bool do_clone3(ThreadContext* context);
// flags: CLONE_VFORK | CLONE_VM or 0
bool do_fork(ThreadContext* context, uint64_t flags);

// exit(2) of one thread. Returns only when a signal comes first.
void end_thread(ThreadContext* context);

// What seccomp's strict mode does to a thread that makes another call: as SIGKILL, but this thread only.
[[noreturn]] void kill_thread(ThreadContext* context);

// First C++ of a new thread, on its own engine stack; the dispatcher follows.
void start_thread(ThreadContext* context);

// What a child needs to leave the engine: in private memory, since the thread context is shared with the parent even after fork.
struct NativeLaunch {
  KernelUcontext* frame;     // inside a SignalFrame whose fpstate follows: rt_sigreturn does the rest
  uint64_t fs_base, gs_base;
};
[[noreturn]] void go_native(const NativeLaunch* launch);

// Takes a free slot of the shared mapping and prepares its context; nullptr when there is none.
ThreadContext* take_slot();

}  // namespace simrun::engine
