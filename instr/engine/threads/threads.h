// Threads and processes that the application makes. Each application thread runs under a C-library identity of its own in the engine
// (identity.h); for child
// processes see child_process.h.
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

// The thread's last call, exit; or exit_group of a process that only borrows the memory. Returns only when a signal comes first.
void end_thread(ThreadContext* context, uint64_t call);

// What seccomp's strict mode does to a thread that makes another call: as SIGKILL, but this thread only.
[[noreturn]] void kill_thread(ThreadContext* context);

// First C++ of a new thread, on its own engine stack; the dispatcher follows.
void start_thread(ThreadContext* context);

// Takes a free slot of the shared mapping and prepares its context; nullptr when there is none.
ThreadContext* take_slot();

}  // namespace simrun::engine
