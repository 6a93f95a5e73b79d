// Asking the simulator to take on a child process or a new image (border::FollowRequest, docs/processes.md).
#pragma once

#include <cstdint>

#include "instr/border/shared_memory.h"

namespace simrun::engine {

// Posts the request and waits for the answer; false: refused, or nobody is there to answer. `descriptor`: see FollowRequest. Holds no lock
// while it waits. Any time.
bool ask_simulator(border::FollowKind kind, uint64_t token = 0, uint32_t descriptor = 0);

// The children that this process has made last, by fork: which has which token.
void note_child(uint64_t pid, uint64_t token);
uint32_t token_of_child(uint64_t pid);   // 0: none, or too long ago
void forget_children();                  // in a child of fork, which has none

}  // namespace simrun::engine
