// Memory for large tables that are looked up anywhere: in huge pages where the host has them, so that a look needs no
// walk of the host's page tables (bench_sim: see docs/cache-model.md, "Layout and speed").
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace simrun::sim {

template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}

  T* allocate(size_t count) {
    constexpr size_t kHugePage = 2 << 20;
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
    const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* const memory = std::aligned_alloc(kHugePage, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory, rounded, MADV_HUGEPAGE);  // a hint: nothing is wrong if the host has none
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    constexpr size_t kHugePage = 2 << 20;
    if (count * sizeof(T) < kHugePage)
      ::operator delete(memory, std::align_val_t{alignof(T)});
    else
      std::free(memory);
  }
  friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

}  // namespace simrun::sim
