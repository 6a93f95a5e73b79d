// A pidfd says that a child has ended as soon as its last thread has, also where simrun still traces it and has not let go of its end
// (docs/processes.md, "vfork and posix_spawn"). Natively such a child can be waited for, and a program that asks without waiting relies on it.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Before a call that asks for the end of one child without waiting for it (WNOHANG): if it has ended, and its end is not to be had because simrun
// traces it, waits for that, for a second at most. Dispatcher only. `arguments`: all six.
void await_report_of_end(const ThreadContext* context, uint64_t number, const uint64_t* arguments);

}  // namespace simrun::engine
