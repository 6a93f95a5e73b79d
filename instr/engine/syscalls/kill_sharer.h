// SIGKILL and SIGSTOP for a process that shares this memory (CLONE_VM, but no thread): it must not die, nor stop, with a lock of the engine
// (docs/threads.md).
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// True: the call was such a one, and `result` is its result. Dispatcher only.
bool answer_kill_call(ThreadContext* context, uint64_t number, int64_t& result);

}  // namespace simrun::engine
