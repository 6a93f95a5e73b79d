#include "analysis/memory/allocators.h"

namespace simrun::analysis {

const std::vector<Allocator>& allocators() {
  using enum AllocatorKind;
  // C: ISO C, POSIX, glibc. C++: Itanium ABI names of the replaceable functions (ISO C++ [new.delete]).
  static const std::vector<Allocator> kAll = {
      {"malloc", kSize0},
      {"calloc", kProduct01},
      {"realloc", kReallocate},
      {"reallocarray", kReallocArray},
      {"aligned_alloc", kSize1},
      {"memalign", kSize1},
      {"posix_memalign", kByPointer},
      {"valloc", kSize0},
      {"pvalloc", kSize0},
      {"free", kRelease},
      {"cfree", kRelease},
      {"_Znwm", kSize0},
      {"_Znam", kSize0},
      {"_ZnwmRKSt9nothrow_t", kSize0},
      {"_ZnamRKSt9nothrow_t", kSize0},
      {"_ZnwmSt11align_val_t", kSize0},
      {"_ZnamSt11align_val_t", kSize0},
      {"_ZnwmSt11align_val_tRKSt9nothrow_t", kSize0},
      {"_ZnamSt11align_val_tRKSt9nothrow_t", kSize0},
      {"_ZdlPv", kRelease},
      {"_ZdaPv", kRelease},
      {"_ZdlPvm", kRelease},
      {"_ZdaPvm", kRelease},
      {"_ZdlPvRKSt9nothrow_t", kRelease},
      {"_ZdaPvRKSt9nothrow_t", kRelease},
      {"_ZdlPvSt11align_val_t", kRelease},
      {"_ZdaPvSt11align_val_t", kRelease},
      {"_ZdlPvmSt11align_val_t", kRelease},
      {"_ZdaPvmSt11align_val_t", kRelease},
  };
  return kAll;
}

std::vector<std::string> allocator_names() {
  std::vector<std::string> names;
  for (const Allocator& a : allocators()) names.emplace_back(a.name);
  return names;
}

const std::vector<std::string>& glibc_allocator_names() {
  static const std::vector<std::string> kNames = {"__libc_malloc",   "__libc_free",   "__libc_realloc", "__libc_memalign",
                                                  "__libc_valloc",   "__libc_pvalloc", "__libc_calloc"};
  return kNames;
}

uint64_t requested_bytes(AllocatorKind kind, const uint64_t (&arguments)[3]) {
  switch (kind) {
    case AllocatorKind::kSize0:
      return arguments[0];
    case AllocatorKind::kProduct01:
      return arguments[0] * arguments[1];
    case AllocatorKind::kReallocate:
    case AllocatorKind::kSize1:
      return arguments[1];
    case AllocatorKind::kReallocArray:
      return arguments[1] * arguments[2];
    case AllocatorKind::kByPointer:
      return arguments[2];
    case AllocatorKind::kRelease:
      return 0;
  }
  return 0;
}

}  // namespace simrun::analysis
