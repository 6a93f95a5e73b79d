// What a sink in front of another passes on to it, if it cares.
#pragma once

#include <cstdint>
#include <span>

#include "instr/channel/merge.h"

namespace simrun::cli {

// The handle of a thread that got a core.
template <class Inner>
uint32_t handle_on(Inner& inner, const channel::ThreadReport& report) {
  if constexpr (channel::FollowsCores<Inner>)
    return inner.run_on(report);
  else
    return inner.start_thread(report);
}

// What happens to the memory of processes.
template <class Inner>
void tell(Inner& inner, uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
  if constexpr (requires { inner.event(handle, event, payload); }) inner.event(handle, event, payload);
}
template <class Inner>
void forget_in(Inner& inner, uint32_t process) {
  if constexpr (requires { inner.forget_process(process); }) inner.forget_process(process);
}

}  // namespace simrun::cli
