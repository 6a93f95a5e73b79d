// The application's limits on its address space. The engine's memory would count towards them, so the kernel does not
// get to know them: the engine answers getrlimit, setrlimit and prlimit64 for RLIMIT_AS and RLIMIT_DATA of this
// process, and refuses what is above them.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"
#include "instr/engine/translate/address_space.h"

namespace simrun::engine {

// After read_address_space.
void start_resource_limits();

// The call's result, if it is about a limit that the engine keeps; else false.
bool answer_limit_call(ThreadContext* context, uint64_t number, int64_t& result);

// Whether the application may have so much more (mm/mmap.c, may_expand_vm).
bool may_map(const MappedBytes& more);
// True when neither limit is in force, so that nothing need be asked.
bool memory_is_unlimited();
// Whether a heap up to `end` is within RLIMIT_DATA (include/linux/mm.h, check_data_rlimit).
bool heap_may_end_at(uint64_t end);

// An exec makes the limits the kernel's business; a failed one no more.
void give_limits_to_kernel();
void take_limits_back();

// Whether the calling thread has the capability in effect (linux/capability.h).
bool has_capability(int capability);

// Soft and hard limit, for /proc/PID/limits.
struct Limit {
  uint64_t soft, hard;
};
Limit address_space_limit();
Limit data_limit();

}  // namespace simrun::engine
