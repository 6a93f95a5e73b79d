// What the stream says of a system call (border/stream.h, docs/order.md): its number, and whom it waits for or lets go on.
#pragma once

#include <array>
#include <cstdint>

#include "instr/border/shared_memory.h"
#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// A call on something by which threads hand over to each other (border::HandOver).
struct HandOverCall {
  // `units` that are known when the call is back (parts_done): its result, or the number that an eventfd gave.
  static constexpr uint64_t kAsResult = border::HandOver::kUncounted - 1, kAsRead = border::HandOver::kUncounted - 2;
  struct Part {
    uint64_t object, units;   // as in border::HandOver
  };
  using Parts = std::array<Part, 4>;   // object 0: no more of them, or there is no other thread
  Parts gives{};           // lets others go on by these
  Parts takes{};           // may wait for such a call on these
  bool gives_result = false;   // `gives`: as much as the call's result says; else all or nothing
  bool sets = false;           // `gives`: what is there is replaced by it
  uint64_t place = 0;      // of the stream, behind its kSyscallEnter
  uint64_t time = 0;       // when it was made
  uint64_t switches = 0;   // `takes`: times that the thread had given up its processor before
};
HandOverCall hand_over_call(const ThreadContext* context, uint64_t number);
// `parts` of a call that is back: what some have taken, and how much, is known only then.
HandOverCall::Parts parts_done(const ThreadContext* context, uint64_t number, const HandOverCall::Parts& parts);
// What system calls make that has no name by which the kernel tells it from others (socketpair, eventfd) gets one, which children of a fork know, too.
// It goes where its descriptor does.
void name_what_was_made(const ThreadContext* context, uint64_t number);
// Before the call: another thread may have the descriptor's number the moment it is closed.
void forget_what_is_closed(const ThreadContext* context, uint64_t number);

// Before and behind the call, with its arguments where the application put them.
void append_call_enter(ThreadContext* context, uint64_t number, bool blocks, HandOverCall& hand_over);
void append_call_exit(ThreadContext* context, uint64_t number, bool done, const HandOverCall& hand_over);

}  // namespace simrun::engine
