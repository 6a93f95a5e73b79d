// Signals that the program takes by calls, without a handler: of those that came to its whole process group simrun has had one too, and must
// not pass it on (cli/terminal_signals.h). And one that the engine had sent again gets the code with which it was sent first
// (context/signal_mask.h: restore_code).
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// After a call that went through the gate.
void note_taken_signals(const ThreadContext* context, uint64_t number, const uint64_t* arguments);

}  // namespace simrun::engine
