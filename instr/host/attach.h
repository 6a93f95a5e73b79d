// Attaching to a running process, and detaching from it (docs/attach.md).
#pragma once

#include <sys/types.h>

#include "instr/host/launch.h"
#include "instr/host/local_mapping.h"
#include "instr/host/target.h"

namespace simrun::host {

// Throws UserError where it can be said without touching the process that attach() will not do.
void check_process(pid_t pid);

// Puts the engine into process `pid` and lets every thread go on in it at its exact state. Returns when the engine runs. Throws UserError;
// then the process goes on natively, as if nothing had been, but for some address space and room for it in the limits.
TakenOver attach(pid_t pid, const LaunchOptions& options);

// Takes away what the engine had mapped in the process, which has left it (Leaving::kGone). Does what it can: what stays is only memory.
// On a thread that ends then (StoppedThreads::enter_calls).
void remove_engine(Target& target);

// Has every thread of the process leave the engine, at once; its streams must be read meanwhile. Returns false when that was not possible
// within some seconds: then they all stay in the engine. True also when the process has ended. On a thread that traces nothing else.
bool detach(Target& target);

// The process still has threads in the engine.
bool has_threads(const Target& target);

// Of the threads that were there when it was attached to: those that have not gone on yet, as they were not given a processor.
uint32_t threads_to_begin(const Target& target);

// detach(), and when the last thread has gone, remove_engine(). False: all stay in the engine.
bool leave_native(Target& target);

}  // namespace simrun::host
