// A signal that the program, or a child of it that knows its parent's number, sends to its parent is for who started it: natively that is its
// parent, here simrun is, and its parent is meant.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// True: the call was such a one, and `result` is its result. Dispatcher only.
bool answer_signal_to_parent(const ThreadContext* context, uint64_t number, int64_t& result);

}  // namespace simrun::engine
