// /proc/self/maps and its kin, as the application would see them without the engine.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// After a successful open: if the new descriptor is a file of /proc that tells of the engine, a view without it takes
// its place, and the descriptor's number comes in rax instead. `number` is any call, `arguments` are the first three
// that it had.
void after_open_call(ThreadContext* context, uint64_t number, const uint64_t* arguments);

// Before a read: a view that nothing has been read of yet becomes what it would be now. When signals keep coming first, what it was at
// the third attempt.
void before_read_call(ThreadContext* context, uint64_t number);
// After any call that was made.
void after_read_call(ThreadContext* context, const uint64_t* arguments);

// After a write: if it went to this process's memory by its file in /proc, translations of what was there are dropped.
// Such a write reaches code that is not writable.
void after_write_call(ThreadContext* context, uint64_t number, const uint64_t* arguments);

}  // namespace simrun::engine
