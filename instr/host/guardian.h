// A process beside simrun that outlives it when it is killed, and then lets the processes that it had in the engine go
// on natively. docs/attach.md, "When simrun is killed".
#pragma once

#include <sys/types.h>

#include "instr/host/file_descriptor.h"
#include "instr/host/target.h"

namespace simrun::host {

class Guardian {
 public:
  // Forks. Before any other thread, and early: the two share memory until they write. Without it (no process can be
  // made), nobody guards: whoever notices that simrun is gone goes on in the engine.
  Guardian();
  // Sends it home.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // A process is in the engine from now on; one that has ended need not be taken back. Takes the descriptor of its
  // mapping, and needs no telling again without one.
  void guard(Target& target) { guard(target.pid(), target.take_file()); }
  void guard(pid_t pid, FileDescriptor file);
  // None of them is its affair any more.
  void forget_all();
  // This process is about to stop because `pid` has: it is to be continued (SIGCONT) when that goes on, or has ended. Async-signal-safe. False: nobody would.
  bool continue_with(pid_t pid);
  pid_t pid() const { return pid_; }   // -1: there is none

 private:
  bool tell(pid_t message, int descriptor);

  FileDescriptor socket_;
  pid_t pid_ = -1;
};

}  // namespace simrun::host
