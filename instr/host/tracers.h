// What concerns programs that trace processes themselves: debuggers, strace (docs/processes.md).
#pragma once

#include <sys/types.h>

#include "instr/border/shared_memory.h"

namespace simrun::host {

// Answers an engine's request and wakes who waits.
void reply(border::FollowRequest& request, bool granted);

// A process or thread has a tracer.
bool is_traced(pid_t tid);
// By the calling thread.
bool is_traced_by_us(pid_t tid);

// A thread that we trace, at a stop of PTRACE_SYSCALL: it is about to make the call that makes it its parent's tracee.
bool asks_to_be_traced(pid_t tid);

// Likewise: about to execute a program whose privileges (set-user-ID, file capabilities) the kernel would not give to whom we trace, without
// privileges ourselves (security/commoncap.c, cap_bprm_creds_from_file).
bool executes_privileged(pid_t tid);

}  // namespace simrun::host
