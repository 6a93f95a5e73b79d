// Attaching from a process of its own, which finishes what it has begun when simrun is killed amid (docs/attach.md, "When simrun is killed").
#pragma once

#include <sys/types.h>

#include "instr/host/guardian.h"
#include "instr/host/launch.h"

namespace simrun::host {

// attach() in another process, which is gone when this returns. From then on the guardian (null: nobody) knows the process. Throws UserError as
// attach() does, and when no process can be made.
TakenOver attach_apart(pid_t pid, const LaunchOptions& options, Guardian* guardian);

}  // namespace simrun::host
