// The end by a signal of which the kernel writes a core file (core(5)): the file shows the program as it is natively.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The signal's default action writes one, and nobody can keep the process alive.
bool ends_with_core(int number);
// `number` is queued for this thread, which blocks all, and its action is the default again: goes native, to be ended there.
[[noreturn]] void end_with_core(ThreadContext* context, int number);

}  // namespace simrun::engine
