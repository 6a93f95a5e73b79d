// operator new of the engine: a message instead of the allocator's silent abort, for the engine has no exceptions. (The operators without a
// throw stay the allocator's, and so do those that delete.)
#include <cstdlib>
#include <new>

#include "instr/engine/context/process.h"

namespace {

void* or_fail(void* memory, size_t bytes) {
  if (memory == nullptr)
    simrun::engine::fail("no memory for the engine (%zu bytes): a limit of memory or of the number of mappings is reached", bytes);
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return or_fail(std::malloc(bytes), bytes); }

void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<size_t>(alignment);
  return or_fail(std::aligned_alloc(unit, (bytes + unit - 1) & ~(unit - 1)), bytes);
}
