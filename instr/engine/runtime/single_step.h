// The trap flag: a program that sets it gets SIGTRAP after each instruction. The flag is never set in the processor
// while code of the code cache runs: the dispatcher has one instruction at a time translated, and raises the signal
// itself.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

inline constexpr uint64_t kTrapFlag = 0x100;

inline bool is_stepping(const ThreadContext* context) { return (context->app.flags & kTrapFlag) != 0; }

// Before the thread enters the code of one instruction at app.pc: takes the flag out of the flags that the processor
// gets.
void begin_step(ThreadContext* context);

// The thread has left the code cache: the flag comes back. `executed`: the instruction has retired, and the trap
// follows.
void end_step(ThreadContext* context, bool executed);

// Behind an instruction that ran under the flag.
void raise_step_trap(ThreadContext* context);

// The popf at app.pc, when it sets the trap flag or runs under it; its own trap is the caller's. False: a fault is pending.
bool pop_flags(ThreadContext* context);

}  // namespace simrun::engine
