// clone with CLONE_VFORK but without CLONE_VM, of a child that is followed. The kernel would keep the parent inside the call until the child
// has executed a program or ended, with what it has to tell the simulator, which holds the child up until it has heard it. So the flag is
// taken out, and the parent waits here.
#pragma once

#include <atomic>
#include <cstdint>

namespace simrun::engine {

// Shared by parent and child.
using ChildHasGoneOn = std::atomic<uint32_t>;

// Null: no memory.
ChildHasGoneOn* prepare_vfork_wait();
// In the parent; the child's number, or an error instead of it: then it only cleans up.
void wait_for_child(ChildHasGoneOn* gone_on, int64_t child);
// In every child, at once: its parent waits, or (null) does not.
void note_waiting_parent(ChildHasGoneOn* gone_on);
// In the child: it executes a program, or goes on natively. Nothing if nobody waits.
void release_waiting_parent();

}  // namespace simrun::engine
