// A child process that has just executed a program and has not run one instruction of it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "instr/host/program_lookup.h"

namespace simrun::host {

// Kills and reaps the child unless it was released: no half-prepared program survives an error.
class ChildGuard {
 public:
  explicit ChildGuard(pid_t pid) : pid_(pid) {}
  ~ChildGuard();
  ChildGuard(const ChildGuard&) = delete;
  ChildGuard& operator=(const ChildGuard&) = delete;
  pid_t pid() const { return pid_; }
  void release() { pid_ = 0; }

 private:
  pid_t pid_;
};

struct ExecStop {
  pid_t pid;
  bool randomisation_refused;  // aslr == false was asked for and the kernel did not allow it
};

// Forks; the child takes the signal state that simrun inherited, switches address-space randomisation off unless `aslr`, and
// executes the program. Returns when it is in the PTRACE_EVENT_EXEC stop, seized with PTRACE_O_EXITKILL, TRACEEXEC, TRACESYSGOOD.
// The calling thread is its tracer. Throws UserError (and no child is left).
ExecStop start_stopped(const Program& program, bool aslr);

}  // namespace simrun::host
