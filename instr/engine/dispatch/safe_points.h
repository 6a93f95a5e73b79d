// Stopping the world: every thread out of the code cache. A thread is out when its `in_cache` is 0; it stays out, in the dispatcher,
// while a stop is in force. Waiting for the translation lock, for ring space or in a system call counts as out.
//
// The order that makes it safe: a thread sets in_cache, then looks whether a stop is in force, then looks up its code. A stopper declares
// the stop, then looks at in_cache. Both sides with sequentially consistent accesses: one of them sees the other.
#pragma once

#include <signal.h>

#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The calling thread, in the dispatcher with in_cache 0 and without the translation lock, becomes the only one that may run application code.
void stop_world(ThreadContext* self);
// The same, unless other threads do not come within about so many milliseconds: then false, and nothing is stopped.
bool try_stop_world(ThreadContext* self, uint64_t milliseconds);
void resume_world();
// Before the process ends: has the other threads leave the code cache once, so that what they have stored and counted is in their slots
// (ThreadSlot::published). Not for ever: one that waits for a page amid a superblock, or is stopped, does not come. As stop_world.
void have_others_publish(ThreadContext* self);
// It goes on after all.
void forget_published();

// in_cache = 1, unless a stop is in force: waits for its end first.
void enter_cache_state(ThreadContext* self);
void leave_cache_state(ThreadContext* self);

// The signal by which a stop gets a thread out of the code cache that waits there for a page, which nobody may bring before the stop is over
// (userfaultfd; signals/take_signal.cpp: leave_where_it_waits).
bool is_wake_up(int number, const siginfo_t& info);

// Asks one thread to come to the dispatcher.
void request_stop(ThreadContext* thread);

// For who waits for the lock, or for what its holder is to do. Does not return when the holder has been killed.
void check_holder(const EngineLock& lock);

}  // namespace simrun::engine
