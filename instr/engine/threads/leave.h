// Detaching: every thread leaves the engine, all at once (docs/attach.md).
#pragma once

#include "instr/engine/context/process.h"

namespace simrun::engine {

inline bool is_to_leave() { return g_process.header->leaving.load(std::memory_order_relaxed) != 0; }

// The calling thread, in the dispatcher with in_cache 0: waits until all are here, and goes on natively. Returns when a signal comes first, or
// when the simulator is gone (or gave up) before all were here: then the thread stays in the engine.
void leave_engine(ThreadContext* context);

}  // namespace simrun::engine
