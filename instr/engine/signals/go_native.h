// The way out of the engine: an rt_sigreturn of a frame that holds the application's state.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"
#include "instr/engine/signals/signals.h"

namespace simrun::engine {

// Not on any stack of the engine's, nor in the shared mapping.
struct NativeState {
  uint64_t fs_base, gs_base;
  SignalFrame frame;
  alignas(64) uint8_t vectors[16 * 1024];
};

// The thread as the application knows it, with the mask in `app_mask`.
void fill_native_state(ThreadContext* context, NativeState& state);

// What the kernel knows of the process becomes the application's own again: signal actions (but for handlers that the kernel has
// cleared, CLONE_CLEAR_SIGHAND), resource limits.
void give_process_back(bool handlers_cleared = false);
// The calling thread, with all signals blocked and as its process is to be: registers, vector state, mask, alternate stack at once.
[[noreturn]] void go_native(const NativeState& state);

}  // namespace simrun::engine
