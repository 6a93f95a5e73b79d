#include "instr/channel/xsave_layout.h"

#include <cpuid.h>

#include <vector>

namespace simrun::channel {

namespace {

std::vector<XsaveComponent> ask_processor() {
  std::vector<XsaveComponent> components;
  uint32_t low = 0, size = 0, max_size = 0, high = 0;
  if (__get_cpuid_count(0xd, 0, &low, &size, &max_size, &high) == 0) return components;
  const uint64_t enabled = low | uint64_t{high} << 32;
  for (uint32_t i = 2; i < 63; ++i) {
    uint32_t bytes = 0, offset = 0, flags = 0, unused = 0;
    if ((enabled >> i & 1) == 0 || __get_cpuid_count(0xd, i, &bytes, &offset, &flags, &unused) == 0 || bytes == 0)
      continue;
    components.push_back({i, offset, bytes});
  }
  return components;
}

}  // namespace

std::span<const XsaveComponent> xsave_components() {
  static const std::vector<XsaveComponent> components = ask_processor();
  return components;
}

}  // namespace simrun::channel
