// Which application memory may be translated: a view of the mappings, read from /proc once at the start and kept by the system calls that
// change them, because later on there may be no descriptor to spare, or no /proc. Under the translation lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "instr/border/shared_memory.h"

namespace simrun::engine {

// Reads the mappings of the process, without the engine's. Before the application's first instruction. 0, or the number of the error, and then
// nothing is known.
[[nodiscard]] int read_address_space();

// Where the view has nothing that can be executed: whether the kernel has. Then somebody else has mapped it, or changed its permissions, who shares
// this memory and runs natively (a child of vfork), and the mapping is taken into the view. Not for what the view has.
bool is_executable_after_all(AppAddress pc);

// Everything mapped now but `application` (ascending) is the engine's (context/engine_memory.h). 0, or the number of the error.
[[nodiscard]] int note_engine_mappings(const border::AddressRange* application, uint32_t count);

// What the application has mapped, as RLIMIT_AS and RLIMIT_DATA count it (its stack with the size that it had at the start).
struct MappedBytes {
  uint64_t all, data;
  uint64_t not_yet_data = 0;   // would be data if it were writable
};
MappedBytes mapped_bytes();
std::vector<border::AddressRange> application_ranges();
MappedBytes mapped_bytes_in(AppAddress from, AppAddress to);

// How many of the `wanted` bytes from `pc` on are readable and executable for the application.
uint32_t executable_bytes(AppAddress pc, uint32_t wanted);

// Whether what is executable there can change without a system call that the engine sees: it is writable and not stable (stable_pages.h),
// or shared with another mapping.
// False where nothing is executable.
bool code_may_change(AppAddress pc);

// Whether it can because it is private and writable, but not a stack: by the application's own stores, then, and by calls.
bool is_private_writable_code(AppAddress pc);

// `protection` as mmap and mprotect take it with READ_IMPLIES_EXEC in force or not (personality).
void note_read_implies_exec(bool implied);

// What the application did. `protection` and `flags` as mmap(2) has them; ranges in whole pages.
void note_mapped(AppAddress from, uint64_t bytes, uint64_t protection, uint64_t flags);
void note_file_may_change(AppAddress from, uint64_t bytes);   // a private mapping, of a file that is open for writing
void note_unmapped(AppAddress from, uint64_t bytes);

// Before a call that unmaps: afterwards another thread may have something new there at once. If the call fails, what was there is put back.
struct TakenOut {
  uint64_t from, to;
  bool executable, writable, shared, stack, file_changes;
};
std::vector<TakenOut> take_out(AppAddress from, uint64_t bytes);
void put_back(const std::vector<TakenOut>& parts);
// At another place: several mappings, if the size stays (Linux 6.17); what lies there where they have holes stays.
void put_moved(std::vector<TakenOut> parts, AppAddress from, uint64_t old_bytes, AppAddress to, uint64_t new_bytes);

void note_protected(AppAddress from, uint64_t bytes, uint64_t protection);
// Where a change of protection from there on begins: with PROT_GROWSDOWN at the beginning of the stack (mm/mprotect.c).
AppAddress begin_of_protection(AppAddress from, uint64_t protection);
// `stays`: MREMAP_DONTUNMAP, the old range is still mapped.
void note_moved(AppAddress from, uint64_t old_bytes, AppAddress to, uint64_t new_bytes, bool stays);

}  // namespace simrun::engine
