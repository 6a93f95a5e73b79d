// mmap and munmap of the engine's libraries (of the allocator above all): every mapping without an address goes to the
// engine's own area, and all are noted as the engine's (context/engine_memory.h). Libraries bind to these definitions
// because the executable comes first. The C library's inner calls do not come here; after the start it has none (thread
// stacks are ours).
#include <sys/mman.h>

#include <cerrno>

#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/raw_syscall.h"

namespace {

using namespace simrun::engine;

EngineMemory kind_of(int protection, int flags) {
  if (protection & PROT_EXEC) return EngineMemory::kCode;
  return (protection & PROT_WRITE) && (flags & MAP_TYPE) == MAP_PRIVATE ? EngineMemory::kData : EngineMemory::kOther;
}

}  // namespace

extern "C" {

void* mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  const bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (!fixed && (flags & MAP_ANONYMOUS) && (flags & MAP_TYPE) == MAP_PRIVATE) {
    void* const result = map_engine_memory(bytes, flags & MAP_NORESERVE);
    if (result == MAP_FAILED)
      errno = ENOMEM;
    else if (protection != (PROT_READ | PROT_WRITE))
      mprotect(result, bytes, protection);
    return result;
  }
  const int64_t result =
      raw_syscall(SYS_mmap, word(static_cast<char*>(at)), bytes, static_cast<uint64_t>(protection),
                  static_cast<uint64_t>(flags), static_cast<uint64_t>(descriptor), static_cast<uint64_t>(offset));
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return MAP_FAILED;
  }
  note_engine_memory(static_cast<uint64_t>(result), bytes, kind_of(protection, flags));
  return reinterpret_cast<void*>(result);
}

void* mmap64(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  return mmap(at, bytes, protection, flags, descriptor, offset);
}

int munmap(void* at, size_t bytes) {
  const int64_t result = raw_syscall(SYS_munmap, word(static_cast<char*>(at)), bytes);
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  forget_engine_memory(word(static_cast<char*>(at)), bytes);
  return 0;
}

}  // extern "C"
