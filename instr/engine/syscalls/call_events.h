// What the stream says of a system call (border/stream.h, docs/order.md): its number, and whom it waits for or lets go on.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Before and behind the call, with its arguments where the application put them.
void append_call_enter(ThreadContext* context, uint64_t number, bool blocks);
void append_call_exit(ThreadContext* context, uint64_t number, bool done);

}  // namespace simrun::engine
