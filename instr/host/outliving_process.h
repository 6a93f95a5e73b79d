// What processes of simrun that outlive it when it is killed have in common (guardian.h, attacher.h).
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "instr/host/file_descriptor.h"

namespace simrun::host {

// Two ends of a connection, none of them a standard descriptor: simrun may have been started without standard output, and what is printed must not
// get into it. None: it could not be made.
struct Connection {
  FileDescriptor ours, theirs;
};
Connection connect_processes();

// In the new process: what ends simrun's terminal or job does not end this.
void outlive(const char* name);

// A message, and a descriptor unless it is negative. False: the other end is closed.
bool send(int socket, const void* message, size_t bytes, int descriptor);
bool receive(int socket, void* message, size_t bytes, FileDescriptor& descriptor);

// `process`: a pidfd; none: it had ended before we looked.
bool has_ended(const FileDescriptor& process);

// Has the process leave the engine: returns when it runs natively, or has ended. `process`: a pidfd; the number may be another's by now. `file`: of
// its mapping.
void release(pid_t pid, const FileDescriptor& process, const FileDescriptor& file, bool killed);

}  // namespace simrun::host
