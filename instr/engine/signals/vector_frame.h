// Further parts of the vector state's conversion (vector_frame.cpp). Dispatcher only.
#pragma once

#include <cstdint>
#include <optional>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The thread's vector state becomes what the image (64-byte aligned; changed for it) says of these components; others are as at the start.
// Without a value the image is FXSAVE's. False: no processor accepts it; nothing has changed for the thread.
bool read_vector_frame(ThreadContext* context, uint8_t* image, std::optional<uint64_t> components);
// What a signal frame's image holds: no value unless both marks stand around an XSAVE image (arch/x86/kernel/fpu/signal.c,
// check_xstate_in_sigframe). `legacy`: its first 512 bytes; `at`: where it lies. The kernel's own frames, in whose handlers a thread is attached
// to, may be longer than ours: they have more components.
std::optional<uint64_t> components_of_frame(const uint8_t* legacy, uint64_t at);
inline constexpr uint32_t kLongestImage = 16 * 1024;
// As at the start of a program and of a signal handler.
void reset_vector_state(ThreadContext* context);

}  // namespace simrun::engine
