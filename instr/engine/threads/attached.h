// Threads that ran before the engine came (docs/attach.md).
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The context of the thread that is the engine's main now. Its identity, stack and tid are the caller's affair.
void load_attached_state(ThreadContext* context, uint32_t index);

// Makes contexts for all others, which are stopped, and says in the table where they are. False: no room for one.
bool adopt_other_threads();

}  // namespace simrun::engine
