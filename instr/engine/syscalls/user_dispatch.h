// prctl(PR_SET_SYSCALL_USER_DISPATCH): system calls that become SIGSYS by their address and a byte of the application.
// The kernel does not know of it, for it would stop the engine's calls as well.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// prctl with that operation: its result.
int64_t set_user_dispatch(ThreadContext* context);

// True: the call became a signal, which is pending now; or another one is, and app.pc is back at
// the instruction. `architecture`: AUDIT_ARCH_X86_64, or AUDIT_ARCH_I386 of int 0x80.
bool dispatch_to_user(ThreadContext* context, uint64_t number, uint32_t architecture);

}  // namespace simrun::engine
