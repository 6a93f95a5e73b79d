// Path ids that are to mean something else.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Returns when the simulator has read all that the threads of the process have written, and has forgotten what it knows of their paths. The
// world is stopped, and the caller holds no lock.
void have_paths_forgotten(ThreadContext* self);

}  // namespace simrun::engine
