// Where the table of indirect targets lies, and each slot's window, which shows it behind the thread's context. What it leads to:
// code_table.h.
//
// Every entry is written before the table is used, and the kernel takes half a millisecond for 512 KiB of shared memory, a tenth of what
// a process that ends at once costs. So a process starts with the 64 KiB of a few places, which its window shows eight times; when it has
// more targets than a few or a second thread, it gets all.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// A new table of a few places, not yet filled, instead of the one that there may be; false: no memory.
bool make_indirect_table();
// The slot's window, unless it is there; false: no memory. A second slot makes the table grow.
bool map_indirect_window(uint32_t slot);
// The same in a child process, which has no other.
bool map_only_indirect_window(uint32_t slot);
// All places, filled. Only where one thread at most has a window, and it is the calling one or not started yet. False: no memory or too
// many mappings, nothing has changed.
bool grow_indirect_table();

}  // namespace simrun::engine
