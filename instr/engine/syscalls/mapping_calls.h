// System calls that change or ask for mappings: the engine's own memory is not there for them, and the view of the
// application's mappings (translate/address_space.h) follows them.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// The first look at the heap's end and at the personality. After read_address_space.
void start_mapping_calls();

// Before the kernel does the call: true when the engine has answered it (`result`). `number` is any call.
bool answer_mapping_call(ThreadContext* context, uint64_t number, int64_t& result);

// Before the kernel does it: what the call unmaps leaves the view now, for another thread may be given the same addresses as soon as the
// kernel is done. Undone when the call is not made after all.
void before_mapping_call(uint64_t number, const uint64_t* arguments);
void undo_before_mapping_call(uint64_t number, const uint64_t* arguments);

// After the kernel has done it; `arguments` are the first five that it had.
void after_mapping_call(ThreadContext* context, uint64_t number, const uint64_t* arguments);

}  // namespace simrun::engine
