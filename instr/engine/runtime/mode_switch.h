// From one mode to another while the program runs (docs/count-mode.md, "Switches"). The translations of the old mode are dropped with the
// world stopped; each thread then says in its own stream where it changed, before it enters the code cache again.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The process goes on in `mode`, and the calling thread has said so. In the dispatcher, in_cache 0, no lock held.
void switch_mode(border::Mode mode, ThreadContext* self);

// Says it if the process's mode is another than the thread's. Waits for space in the ring: in_cache 0.
void follow_mode(ThreadContext* context);

}  // namespace simrun::engine
