// A process under the engine: from its start, or its fork, to its next exec or its end.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <utility>

#include "instr/border/shared_memory.h"
#include "instr/host/file_descriptor.h"
#include "instr/host/launch.h"
#include "instr/host/local_mapping.h"

namespace simrun::host {

// A descriptor that tells when the process has ended; none when that is so already. Throws UserError when there is none to be had: what it
// writes could not be read to its end, so it is not to be followed.
FileDescriptor open_process(pid_t pid);

class Target {
 public:
  enum class Relation {
    kChild,     // of this process: its end is ours to wait for; the destructor kills it if it still runs
    kStranger,  // someone else waits for it
  };
  // `process`: of a stranger, as open_process() gives it; without it, it has ended.
  Target(pid_t pid, LocalMapping mapping, Relation relation, FileDescriptor process);
  explicit Target(Launched launched) : Target(launched.pid, std::move(launched.mapping), Relation::kChild, FileDescriptor()) {}
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  pid_t pid() const { return pid_; }
  void* mapping() const { return mapping_.address(); }
  FileDescriptor take_file() { return mapping_.take_file(); }   // that is mapped
  border::ProcessHeader& header() const { return mapping_.header(); }
  border::ThreadSlot& slot(uint32_t k) const {
    return *reinterpret_cast<border::ThreadSlot*>(static_cast<char*>(mapping()) + header().slots_offset + k * header().slot_bytes);
  }

  // False once it has ended (or executed another program); does not block. Not from several threads at once.
  bool running();
  // Another image took its place in the process: it runs no more, and its process is another target's affair.
  void replace() { ended_ = true, relation_ = Relation::kStranger; }
  // As waitpid reports it: WIFEXITED, WIFSIGNALED. Of a child, after running() returned false.
  int wait_status() const { return status_; }
  // Whoever destroys it leaves it in the engine, and the guardian has it go on natively.
  void abandon() { is_abandoned_ = true; }
  // Sends `signal` to the process if it still runs. Async-signal-safe.
  void forward_signal(int signal);

 private:
  bool child_runs();
  bool stranger_runs() const;

  pid_t pid_;
  LocalMapping mapping_;
  Relation relation_;
  FileDescriptor pidfd_;   // of a stranger
  std::atomic<bool> ended_ = false;
  int status_ = 0;
  bool is_abandoned_ = false;
};

}  // namespace simrun::host
