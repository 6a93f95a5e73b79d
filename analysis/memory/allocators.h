// Functions that give out and take back heap memory, by their names in symbol tables, and what their arguments mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simrun::analysis {

enum class AllocatorKind : uint8_t {
  kSize0,         // size in the first argument: malloc, operator new
  kProduct01,     // calloc
  kReallocate,    // realloc(block, size)
  kReallocArray,  // reallocarray(block, n, size)
  kSize1,         // aligned_alloc, memalign
  kByPointer,     // posix_memalign(&block, alignment, size): the result is not the block
  kRelease,       // free, operator delete
};

struct Allocator {
  const char* name;
  AllocatorKind kind;
};

// All that are known.
const std::vector<Allocator>& allocators();
std::vector<std::string> allocator_names();
// glibc's, which stand together in its one object file malloc.o. What calls free() from between them is that file's own: of a block that the program
// has freed before, into a cache of the thread, which ends (malloc.c, tcache_thread_shutdown).
const std::vector<std::string>& glibc_allocator_names();
// Bytes that a call with these arguments asks for; 0: kRelease.
uint64_t requested_bytes(AllocatorKind kind, const uint64_t (&arguments)[3]);

}  // namespace simrun::analysis
