// Dropping translations while threads run in them.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Stops the world and drops all translations; the caller holds no lock and has in_cache 0.
void flush_translations(ThreadContext* self);

}  // namespace simrun::engine
