// Where the engine's own mappings lie: far from everything that the kernel chooses for the application, so that its layout stays as it
// is natively. Any time.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace simrun::engine {

// Private anonymous memory at an address of the engine's; MAP_FAILED on failure. `flags` beside MAP_PRIVATE | MAP_ANONYMOUS.
inline void* map_engine_memory(uint64_t bytes, int flags = 0) {
  static std::atomic<uint64_t> next{0x130000000000};   // shared by all threads; only a hint
  void* hint = reinterpret_cast<void*>(next.fetch_add((bytes + 0xffff) & ~0xffffull, std::memory_order_relaxed));
  return mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | ((flags & MAP_SHARED) ? 0 : MAP_PRIVATE) | flags, -1, 0);
}

}  // namespace simrun::engine
