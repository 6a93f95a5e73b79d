// What the stream says of a system call (border/stream.h, docs/order.md): its number, and whom it waits for or lets go on.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// What the call is made on, if it is something by which threads hand over to each other and there is another one; else 0.
uint64_t handed_over_by(const ThreadContext* context, uint64_t number);

// Before and behind the call, with its arguments where the application put them. `object`: as above.
void append_call_enter(ThreadContext* context, uint64_t number, bool blocks, uint64_t object);
void append_call_exit(ThreadContext* context, uint64_t number, bool done, uint64_t object);

}  // namespace simrun::engine
