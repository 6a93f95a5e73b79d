// Where a thread goes when it leaves the code cache: finds out why, does what must be done, finds the code to go on with.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Called by the emitted `leave` routine on the engine stack with the engine's FS base; the application's registers are in
// `context->app` (pc not always: by exit). Returns the code address to enter. Dispatcher only.
uint64_t dispatch(ThreadContext* context);

}  // namespace simrun::engine
