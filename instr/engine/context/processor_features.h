// What the processor has, by CPUID leaf 7 (Intel SDM vol. 2, CPUID; AMD APM vol. 3, appendix E).
#pragma once

#include <cpuid.h>

#include <cstdint>

namespace simrun::engine {

enum class Feature : uint8_t {
  // Bits of ebx.
  kSgx = 2, kBmi2 = 8, kRtm = 11, kAvx512F = 16, kAvx512Bw = 30,
  // 32 and more: bits of ecx.
  kOsProtectionKeys = 32 + 4, kFiveLevelPaging = 32 + 16,
  // 64 and more: bits of edx.
  kAmxTile = 64 + 24,
};

inline bool has_feature(Feature feature) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const auto bit = static_cast<uint32_t>(feature);
  return ((bit < 32 ? b : bit < 64 ? c : d) >> bit % 32 & 1) != 0;
}

}  // namespace simrun::engine
