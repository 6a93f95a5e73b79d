// Further parts of the vector state's conversion (vector_frame.cpp). Dispatcher only.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The thread's vector state becomes what the frame image (64-byte aligned) says.
void read_vector_frame(ThreadContext* context, const uint8_t* image, bool extended);
bool is_extended(const uint8_t* image);
// As at the start of a program and of a signal handler.
void reset_vector_state(ThreadContext* context);

}  // namespace simrun::engine
