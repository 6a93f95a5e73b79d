// Further parts of the vector state's conversion (vector_frame.cpp). Dispatcher only.
#pragma once

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The thread's vector state becomes what the frame image (64-byte aligned; changed for it) says. False: no processor accepts it; nothing has
// changed for the thread.
bool read_vector_frame(ThreadContext* context, uint8_t* image, bool extended);
// Whether both marks stand around an XSAVE image: `image` has the legacy region, `second_mark` the four bytes behind the whole.
bool is_extended(const uint8_t* image, uint32_t second_mark);
// As at the start of a program and of a signal handler.
void reset_vector_state(ThreadContext* context);

}  // namespace simrun::engine
