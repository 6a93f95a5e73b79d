// The signal dispositions, mask, timer slack, scheduling and soft limits (of memory, open files, processor time) with which the simrun process was
// started: what a natively started program would have inherited. Recorded before main, so that whatever simrun installs for itself later
// does not reach the program.
#pragma once

namespace simrun::host {

// Takes what a fork would lose: interval timers, and blocked signals that are pending. Of the process that is about to make the first program; the
// next ones get none.
void hand_over_state();

// Whether simrun was started with this signal blocked.
bool was_blocked_at_start(int signal);

// Gives the calling process the recorded state. Async-signal-safe: for the child between fork and execve.
void restore_inherited_state();

}  // namespace simrun::host
