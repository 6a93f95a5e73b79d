// The signal dispositions, mask, timer slack and soft limits (of memory, open files, processor time) with which the simrun process was started: what a
// natively started program would have inherited. Recorded before main, so that whatever simrun installs for itself later
// does not reach the program.
#pragma once

namespace simrun::host {

// Gives the calling process the recorded state. Async-signal-safe: for the child between fork and execve.
void restore_inherited_state();

}  // namespace simrun::host
