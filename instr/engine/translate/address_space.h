// Which application memory may be translated: a view of the mappings, read from /proc once at the start and kept by the system calls that
// change them, because later on there may be no descriptor to spare, or no /proc. Under the translation lock.
#pragma once

#include <cstdint>

#include "base/address.h"

namespace simrun::engine {

// Reads the mappings of the process. Before the application's first instruction.
void read_address_space();

// How many of the `wanted` bytes from `pc` on are readable and executable for the application.
uint32_t executable_bytes(AppAddress pc, uint32_t wanted);

// Whether what is executable there can change without a system call that the engine sees: it is writable, or shared with another mapping.
// False where nothing is executable.
bool code_may_change(AppAddress pc);

// What the application did. `protection` and `flags` as mmap(2) has them; ranges in whole pages.
void note_mapped(AppAddress from, uint64_t bytes, uint64_t protection, uint64_t flags);
void note_unmapped(AppAddress from, uint64_t bytes);
void note_protected(AppAddress from, uint64_t bytes, uint64_t protection);
void note_moved(AppAddress from, uint64_t old_bytes, AppAddress to, uint64_t new_bytes);

}  // namespace simrun::engine
