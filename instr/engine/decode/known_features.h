// Extensions that the decoder does not know are not shown to the program, which would use them and end by SIGILL: what CPUID says of them
// is taken out (Intel Architecture Instruction Set Extensions Programming Reference, chapter 1.5; AMD APM vol. 3, appendix E).
#pragma once

#include <cstdint>

namespace simrun::engine {

struct CpuidLeaf {
  uint32_t eax, ebx, ecx, edx;
  bool operator==(const CpuidLeaf&) const = default;
};

// `said`: what the processor says for eax = `leaf`, ecx = `subleaf`; `avx10`: its version of AVX10, 0 when it has none.
constexpr CpuidLeaf without_unknown_features(uint32_t leaf, uint32_t subleaf, CpuidLeaf said, uint32_t avx10) {
  constexpr uint32_t kRaoInt = 1u << 3, kMovrs = 1u << 31;                          // 7.1 eax
  constexpr uint32_t kUserMsr = 1u << 15, kAvx10 = 1u << 19, kApx = 1u << 21;       // 7.1 edx
  constexpr uint32_t kKnownTiles = 0xf;                                             // 1e.1 eax: AMX-INT8, -BF16, -COMPLEX, -FP16
  constexpr uint32_t kAvx512Bmm = 1u << 23;                                         // 80000021 eax
  if (leaf == 7 && subleaf == 1) {
    said.eax &= ~(kRaoInt | kMovrs);
    said.edx &= ~(kUserMsr | kApx | (avx10 > 1 ? kAvx10 : 0));                      // version 1 is AVX-512 by another name
  }
  if (leaf == 0x1e && subleaf == 1) said.eax &= kKnownTiles;
  if (leaf == 0x80000021) said.eax &= ~kAvx512Bmm;
  return said;
}

}  // namespace simrun::engine
