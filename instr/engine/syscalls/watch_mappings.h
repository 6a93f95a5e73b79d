// Tells the simulator of changes of the address space, when it watches calls (ProcessHeader::watch_calls): which file lies where, while it
// still does, and in time to name the functions to watch in it before any of them is translated.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// After a call that succeeded. Waits for the simulator when code of a file was mapped. Dispatcher only, without locks.
void report_mapping_change(ThreadContext* context, uint64_t number, const uint64_t* arguments);

// What the kernel has mapped before the program starts.
void report_first_mappings(ThreadContext* context);

}  // namespace simrun::engine
