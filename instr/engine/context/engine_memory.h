// Which addresses are the engine's own. The application must not be able to tell: its system calls that name such
// addresses, and what the kernel says of its mappings, go by this (syscalls/mapping_calls.cpp,
// syscalls/process_files.cpp).
//
// All memory of the engine is noted here: what the launcher and the private loader mapped when the engine starts, and
// from then on what goes through the engine's own `mmap` (runtime/engine_mmap.cpp). Any time, but in a signal handler
// only where the thread holds no lock.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "instr/border/shared_memory.h"

namespace simrun::engine {

enum class EngineMemory : uint8_t {
  kData,  // private and writable: counts as data for RLIMIT_DATA
  kCode,  // executable
  kOther,
};

void note_engine_memory(uint64_t from, uint64_t bytes, EngineMemory kind);
void forget_engine_memory(uint64_t from, uint64_t bytes);

// The first part of [from, to) that is the engine's; false: none is.
bool find_engine_memory(uint64_t from, uint64_t to, border::AddressRange& part);
// The same for code only.
bool find_engine_code(uint64_t from, uint64_t to, border::AddressRange& part);

// Bytes of all, of what is data, and of what is code.
uint64_t engine_memory_bytes();
uint64_t engine_data_bytes();
uint64_t engine_code_bytes();

// Anonymous memory at a 64 KiB boundary (64 MiB from 4 MiB on) of the engine's area, which is far from everything that
// the kernel chooses for the application, so that its layout stays as it is natively; MAP_FAILED on failure. `flags`
// beside MAP_ANONYMOUS; private unless MAP_SHARED is among them. For `unmap_engine_memory`.
void* map_engine_memory(uint64_t bytes, int flags = 0);
void unmap_engine_memory(void* at, uint64_t bytes);

}  // namespace simrun::engine
