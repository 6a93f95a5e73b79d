// The last things that happened to a thread, for fault reports: ThreadContext::events.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Kinds, each from a number on: FixedExit below kExitEvents; then ExitKind, a signal's number, a system call's.
inline constexpr uint64_t kExitEvents = 100, kSignalEvents = 500, kCallEvents = 1000;

// Any time: a signal handler's may replace one that is being written.
inline void remember(ThreadContext* c, uint64_t kind, uint64_t value) {
  c->events[c->last_event++ % 32] = {kind, value};
}

}  // namespace simrun::engine
