// The vector state in signal frames and its conversion. Dispatcher only.
#pragma once

#include <cstdint>
#include <optional>

#include "instr/engine/context/process.h"

namespace simrun::engine {

// The vector state in signal frames, what stays in registers included.
struct FrameLayout {
  uint64_t components;
  uint32_t bytes;   // of the image in standard format
};
// The calling thread's frames: longer once it has used AMX tiles.
const FrameLayout& frame_layout(ThreadContext* context);

// The vector state in standard format (64-byte aligned) with its trailing magic, `frame_bytes`. Of the calling thread only: some of it is in its
// registers.
inline uint64_t frame_bytes(const FrameLayout& layout) { return layout.bytes + 4; }
void write_vector_frame(ThreadContext* context, const FrameLayout& layout, uint8_t* out);
// Any thread's, without what is in its registers; `xsave_standard_bytes`.
void write_vector_image(const ThreadContext* context, uint8_t* out);

// The calling thread's vector state becomes what the image (64-byte aligned; changed for it) says of these components; others are as at the
// start. Without a value the image is FXSAVE's. False: no processor accepts it; nothing has changed for the thread.
bool read_vector_frame(ThreadContext* context, uint8_t* image, std::optional<uint64_t> components);
// Any thread's; what is in its registers is not looked at.
bool read_vector_image(ThreadContext* context, uint8_t* image);
// What a signal frame's image holds: no value unless both marks stand around an XSAVE image (arch/x86/kernel/fpu/signal.c,
// check_xstate_in_sigframe). `legacy`: its first 512 bytes; `at`: where it lies. The kernel's own frames, in whose handlers a thread is attached
// to, may be longer than ours: they have more components. False: the second mark is where nothing can be read.
struct FrameImage {
  uint64_t components;
  uint32_t bytes;   // in standard format
};
bool components_of_frame(const uint8_t* legacy, uint64_t at, std::optional<FrameImage>& image);
inline constexpr uint32_t kLongestImage = 16 * 1024;
// As at the start of a program and of a signal handler, the calling thread's registers included.
void reset_vector_state(ThreadContext* context);

// At the engine's start.
void read_vector_layout();

}  // namespace simrun::engine
