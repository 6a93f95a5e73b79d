// The application's system calls: most go through the gate as they are; the table in syscalls.cpp names those that the engine must see.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// app.pc is behind the syscall instruction. Afterwards the call is done, or app.pc is back at the instruction because a signal comes first.
void do_syscall(ThreadContext* context);

// The same for `int 0x80`: 32-bit registers, numbers and structures.
void do_syscall32(ThreadContext* context);

// A call of the legacy vsyscall page, at which app.pc is: done as the kernel does it. False: app.pc is elsewhere, or there is no such page.
bool do_vsyscall(ThreadContext* context);

// The call through the gate; false: a signal is pending, nothing happened.
bool pass_through(ThreadContext* context);

// The same, and what the engine does about it.
bool watched_call(ThreadContext* context, uint64_t number);

// In the stream, of a call that is made again behind a signal's handler: ERESTARTSYS, which programs never see (include/linux/errno.h).
inline constexpr uint64_t kNotDone = static_cast<uint64_t>(-512);

// Before exit_group: what the process has counted and stored is where the simulator will look for it.
void prepare_end_of_process(ThreadContext* context);
// Behind it, if it came back: `done`, for a filter refused it; else a signal comes first. Returns `done`.
bool survives_end_of_process(ThreadContext* context, bool done);

// Whether a call may block for long, so that the simulator must not wait for the thread, or for as long as a disk takes (docs/order.md).
enum class Blocking : uint8_t { kNo, kBriefly, kLong };
Blocking may_block(const ThreadContext* context, uint64_t number);
// Nobody else's order depends on when a thread is back that is the only one.
bool is_only_one();

}  // namespace simrun::engine
