// The engine lives in the program's address space and counts against the program's limits. These functions make room for it, so that
// the program itself can still use what its limits allow.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>

#include "instr/border/shared_memory.h"

namespace simrun::host {

// Raises the soft limit `resource` (RLIMIT_AS, RLIMIT_DATA) of process `pid` (0: this one) by `bytes`, the hard limit too where that is needed
// and permitted. Returns the limit as it was. Throws UserError when there cannot be enough room.
rlimit make_room(pid_t pid, __rlimit_resource resource, uint64_t bytes);

// Throws UserError when process `pid` may not make a memory file of `bytes`, or raise its limit so far (RLIMIT_FSIZE).
void check_room_for_file(pid_t pid, uint64_t bytes);

// Of a process without the engine, that has left it or has executed a program behind a child of `left`'s that went on natively: its limits
// are those of `left` again, without the room that it had meanwhile, unless it has changed them.
void take_room_back(pid_t pid, const border::ProcessHeader& left);

// ftruncate, for which the kernel applies the file-size limit of this process (RLIMIT_FSIZE, with SIGXFSZ) to memory files as well.
// The limit is raised for the call only. Throws UserError.
void set_size_beyond_limit(int descriptor, uint64_t bytes);

}  // namespace simrun::host
