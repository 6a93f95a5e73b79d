// execve and execveat: the simulator is asked to take the new image on, then the kernel does the call.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The image is replaced when this succeeds: the simulator sees kExec last. Returns false when a signal came first.
bool do_exec(ThreadContext* context);

}  // namespace simrun::engine
