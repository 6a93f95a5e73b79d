// What the stream says of a system call (border/stream.h, docs/order.md): its number, and whom it waits for or lets go on.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// A call on something by which threads hand over to each other (border::HandOver).
struct HandOverCall {
  uint64_t object = 0;   // 0: it is none, or there is no other thread
  bool gives = false;    // it lets others go on; else it may wait for such a call
  uint64_t place = 0;    // of the stream, behind its kSyscallEnter
};
HandOverCall hand_over_call(const ThreadContext* context, uint64_t number);
// What system calls make that has no name by which the kernel tells it from others (socketpair, eventfd) gets one, which children of a fork know, too.
void name_what_was_made(const ThreadContext* context, uint64_t number);

// Before and behind the call, with its arguments where the application put them.
void append_call_enter(ThreadContext* context, uint64_t number, bool blocks, HandOverCall& hand_over);
void append_call_exit(ThreadContext* context, uint64_t number, bool done, const HandOverCall& hand_over);

}  // namespace simrun::engine
