// Buffers of many megabytes: with ordinary pages, taking them from the system costs more than what is done with them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace simrun::traces {

// Before the memory is touched. Only advice: where there are no huge pages, nothing happens.
inline void prefer_huge_pages(const void* data, size_t bytes) {
  constexpr uintptr_t kPage = 4096, kWorthIt = 4 << 20;
  if (bytes < kWorthIt) return;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) & ~(kPage - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) & ~(kPage - 1);
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace simrun::traces
