// Asking the simulator to take on a child process or a new image (border::FollowRequest, docs/processes.md).
#pragma once

#include <cstdint>

#include "instr/border/shared_memory.h"

namespace simrun::engine {

// Posts the request and waits for the answer; false: refused, or nobody is there to answer. `descriptor`: see FollowRequest. Holds no lock
// while it waits. Any time.
bool ask_simulator(border::FollowKind kind, uint64_t token = 0, uint32_t descriptor = 0);

}  // namespace simrun::engine
