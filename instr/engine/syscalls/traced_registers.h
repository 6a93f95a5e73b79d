// Registers as a tracer reads them that shares this memory: a sanitizer's search for leaks, which clones a process for
// it (docs/processes.md, "Programs that trace others").
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// After a ptrace call that succeeded, with the arguments that it had: what it read of a thread in this engine becomes
// the application's.
void after_trace_call(ThreadContext* context, const uint64_t* arguments);

}  // namespace simrun::engine
