// What a child of fork or vfork does first. One that is followed makes itself a home: a shared mapping, a code cache and a table of indirect
// targets of its own at the addresses of its parent's, and goes on in the engine, whose private memory fork has copied. Others leave
// the engine and go on natively.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"
#include "instr/engine/signals/go_native.h"
#include "instr/engine/threads/vfork_wait.h"

namespace simrun::engine {

// The state of a child, in private memory of the parent, of which a child of fork has a copy.
struct ChildProcess {
  uint64_t token;                      // 0: not to be followed
  bool shares_memory;                  // vfork
  bool clears_handlers;                // CLONE_CLEAR_SIGHAND
  ChildHasGoneOn* parent_waits;        // or null
  uint64_t stack[8192];
  NativeState native;
  alignas(64) uint8_t context[sizeof(ThreadContext)];   // of the forking thread, with the child's registers

  ThreadContext* thread() { return reinterpret_cast<ThreadContext*>(context); }
};

// First C++ of the child, on `child.stack`, with the segment bases of the parent's thread.
[[noreturn]] void start_child_process(ChildProcess* child);

// What this process was born from, its first thread's stack then, goes: processes that fork and end, and go on in the child, would have one
// more in each generation. Not before that thread has come to a system call.
void drop_birth_state();

}  // namespace simrun::engine
