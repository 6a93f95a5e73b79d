// Where the processor puts the extended state components in an xsave area of the standard format (Intel SDM vol.
// 1, 13.4; CPUID leaf 0xD). The target runs on this very machine, so we ask its processor.
#pragma once

#include <cstdint>
#include <span>

namespace simrun::channel {

struct XsaveComponent {
  uint32_t number;  // bit in XCR0, 2 and up
  uint32_t offset;  // bytes from the start of the area
  uint32_t bytes;
};

// 512 bytes of legacy region (x87, SSE) and 64 of header.
inline constexpr uint32_t kXsaveLegacyAndHeaderBytes = 576;

std::span<const XsaveComponent> xsave_components();

}  // namespace simrun::channel
