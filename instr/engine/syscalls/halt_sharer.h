// What stops or kills a process that shares this memory (CLONE_VM, but no thread): SIGKILL, SIGSTOP, a tracer. It must
// not die, nor stop, with a lock of the engine, nor stop in the code cache, where who stops the world would wait for it
// (docs/threads.md).
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The thread with this number that is in this engine, but in another process than the caller's. Null: none.
ThreadContext* sharer(const ThreadContext* caller, uint64_t tid);

// True: the call was such a one, and `result` is its result. Dispatcher only.
bool answer_halting_call(ThreadContext* context, uint64_t number, int64_t& result);

}  // namespace simrun::engine
