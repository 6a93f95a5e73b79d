// What the stream says of a system call (border/stream.h, docs/order.md): its number, and whom it waits for or lets go on.
#pragma once

#include <array>
#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// A call on something by which threads hand over to each other (border::HandOver).
struct HandOverCall {
  using Objects = std::array<uint64_t, 4>;   // 0: no more of them, or there is no other thread
  Objects gives{};         // lets others go on by these
  Objects takes{};         // may wait for such a call on these
  uint64_t place = 0;      // of the stream, behind its kSyscallEnter
  bool may_be_given_back = false;   // `takes`: the thread has given there, too
  uint64_t switches = 0;   // then: times that it had given up its processor before
};
HandOverCall hand_over_call(const ThreadContext* context, uint64_t number);
// What system calls make that has no name by which the kernel tells it from others (socketpair, eventfd) gets one, which children of a fork know, too.
// It goes where its descriptor does.
void name_what_was_made(const ThreadContext* context, uint64_t number);
// Before the call: another thread may have the descriptor's number the moment it is closed.
void forget_what_is_closed(const ThreadContext* context, uint64_t number);
// What msgrcv has taken: which type it was the message says.
uint64_t message_taken(const ThreadContext* context);

// Before and behind the call, with its arguments where the application put them.
void append_call_enter(ThreadContext* context, uint64_t number, bool blocks, HandOverCall& hand_over);
void append_call_exit(ThreadContext* context, uint64_t number, bool done, const HandOverCall& hand_over);

}  // namespace simrun::engine
