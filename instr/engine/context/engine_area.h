// Where the engine's own mappings lie: far from everything that the kernel chooses for the application, so that its layout stays as it
// is natively. Any time.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace simrun::engine {

// Anonymous memory at a 64 KiB boundary of the engine's area; MAP_FAILED on failure. `flags` beside MAP_ANONYMOUS; private unless
// MAP_SHARED is among them.
inline void* map_engine_memory(uint64_t bytes, int flags = 0) {
  static std::atomic<uint64_t> next{0x130000000000};   // shared by all threads
  constexpr int kAttempts = 64;                        // the application may have put something there
  void* result = MAP_FAILED;
  for (int k = 0; k < kAttempts && result == MAP_FAILED; ++k) {
    void* at = reinterpret_cast<void*>(next.fetch_add((bytes + 0xffff) & ~0xffffull, std::memory_order_relaxed));
    const int sharing = (flags & MAP_SHARED) ? 0 : MAP_PRIVATE;
    result = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | sharing | flags, -1, 0);
  }
  return result;
}

}  // namespace simrun::engine
