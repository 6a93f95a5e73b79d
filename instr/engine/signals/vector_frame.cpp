// The vector state in signal frames: XSAVE standard format with the kernel's marks around it (arch/x86/kernel/fpu/signal.c), converted
// from and to the compacted image in the thread context by loading it into the registers and storing it in the other format.
#include <cstring>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/signals/vector_frame.h"

namespace simrun::engine {
namespace {

constexpr uint32_t kShortestImage = 576;   // XSAVE's legacy region and header
constexpr uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;

// struct _fpx_sw_bytes at byte 464 of the legacy region.
struct SoftwareBytes {
  uint32_t magic1;
  uint32_t extended_size;
  uint64_t xfeatures;
  uint32_t xstate_size;
  uint32_t padding[7];
};
static_assert(sizeof(SoftwareBytes) == 48);

// All components in their initial state. In compacted form (Intel SDM vol. 1, 13.8.2), for this is then the whole of it: of an image in the
// standard form a Sapphire Rapids touched the places of all components that were asked for, in use or not.
struct alignas(64) InitialImage {
  uint8_t legacy[512];
  uint64_t xstate_bv;
  uint64_t xcomp_bv;
  uint8_t reserved[48];
};
static_assert(sizeof(InitialImage) == 576);
constexpr InitialImage kInitial{{}, 0, 1ull << 63, {}};
const InitialImage* const kInitialImage = &kInitial;

// The registers become `from`, then are stored at `to`, then are as the C++ around here expects them (clean).
// Compacted images are restored with the compaction bit in their header.
#define SIMRUN_MASKS "a"(static_cast<uint32_t>(mask)), "d"(static_cast<uint32_t>(mask >> 32))
#define SIMRUN_VECTORS                                                                                                    \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
      "xmm14", "xmm15", "st", "memory"

void restore(const void* from, uint64_t mask) {
  asm volatile("xrstor64 (%0)" : : "r"(from), SIMRUN_MASKS : SIMRUN_VECTORS);
}

// XCR0
uint64_t enabled_components() {
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// SDM vol. 1, 11.6.6
uint32_t mxcsr_mask() {
  alignas(16) uint8_t image[512] = {};
  asm volatile("fxsave64 (%0)" : : "r"(image) : "memory");
  uint32_t mask;
  std::memcpy(&mask, image + 28, sizeof mask);
  return mask == 0 ? 0xffbf : mask;
}

}  // namespace

uint64_t vector_frame_bytes() { return g_process.xsave_standard_bytes + 4; }

void write_vector_frame(ThreadContext* c, uint8_t* out) {
  const uint64_t mask = g_process.xsave_mask;
  std::memset(out, 0, vector_frame_bytes());
  asm volatile("xrstor64 (%0)\n xsave64 (%1)\n xrstor64 (%2)"
               : : "r"(c->vector_state), "r"(out), "r"(kInitialImage), SIMRUN_MASKS : SIMRUN_VECTORS);
  // x87 and SSE always count as present, so that a handler's changes of their registers take effect (kernel: save_xstate_epilog).
  out[512] |= 3;
  const SoftwareBytes marks{kMagic1, static_cast<uint32_t>(vector_frame_bytes()), mask, g_process.xsave_standard_bytes, {}};
  std::memcpy(out + 464, &marks, sizeof marks);
  std::memcpy(out + g_process.xsave_standard_bytes, &kMagic2, 4);
}

bool read_vector_frame(ThreadContext* c, uint8_t* image, std::optional<uint64_t> components) {
  const uint64_t mask = g_process.xsave_mask;
  uint32_t mxcsr;
  std::memcpy(&mxcsr, image + 24, sizeof mxcsr);
  if (mxcsr & ~mxcsr_mask()) return false;
  uint64_t header[8] = {3};   // fxsave format: x87 and SSE only
  if (components) {
    std::memcpy(header, image + 512, sizeof header);
    if ((header[0] & ~enabled_components()) != 0 || header[1] != 0 || header[2] != 0) return false;   // SDM vol. 1, 13.8.1
    header[0] &= *components;
    constexpr uint64_t kSseAndAvx = 6;
    constexpr uint32_t kInitialMxcsr = 0x1f80;
    if ((*components & kSseAndAvx) == 0) std::memcpy(image + 24, &kInitialMxcsr, sizeof kInitialMxcsr);   // nor is that then looked at
  }
  std::memcpy(image + 512, header, sizeof header);
  asm volatile("xrstor64 (%0)\n xsavec64 (%1)\n xrstor64 (%2)"
               : : "r"(image), "r"(c->vector_state), "r"(kInitialImage), SIMRUN_MASKS : SIMRUN_VECTORS);
  return true;
}

void reset_vector_state(ThreadContext* c) {
  const uint64_t mask = g_process.xsave_mask;
  restore(kInitialImage, mask);
  asm volatile("xsavec64 (%0)" : : "r"(c->vector_state), SIMRUN_MASKS : "memory");
}

std::optional<uint64_t> components_of_frame(const uint8_t* legacy, uint64_t at) {
  SoftwareBytes marks;
  std::memcpy(&marks, legacy + 464, sizeof marks);
  uint32_t second_mark = 0;
  const bool marked = marks.magic1 == kMagic1 && marks.xstate_size >= kShortestImage && marks.xstate_size <= kLongestImage &&
                      marks.xstate_size <= marks.extended_size && read_app(&second_mark, at + marks.xstate_size, sizeof second_mark) &&
                      second_mark == kMagic2;
  return marked ? std::optional(marks.xfeatures) : std::nullopt;
}

}  // namespace simrun::engine
