// The vector state in signal frames: XSAVE standard format with the kernel's marks around it (arch/x86/kernel/fpu/signal.c), converted
// from and to the compacted image in the thread context by loading it into the registers and storing it in the other format.
#include <cpuid.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
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

#define SIMRUN_MASK(components) "mov %[" #components "], %%rax\n mov %%rax, %%rdx\n shr $32, %%rdx\n"
// The registers become `from` in these components (`loaded`), others (`stored`) go to `to`, then what the engine holds is as the C++ around here
// expects it (clean). Compacted images are restored with the compaction bit in their header.
#define SIMRUN_CONVERT(store)                                                                                            \
  asm volatile(SIMRUN_MASK(loaded) "xrstor64 (%[from])\n" SIMRUN_MASK(stored) store                                      \
               " (%[to])\n" SIMRUN_MASK(held) "xrstor64 (%[initial])"                                                    \
               :                                                                                                         \
               : [loaded] "r"(loaded), [from] "r"(from), [stored] "r"(stored), [to] "r"(to), [held] "r"(g_process.xsave_mask), \
                 [initial] "r"(kInitialImage)                                                                            \
               : "rax", "rdx", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",     \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "memory")

void store_standard(const void* from, uint64_t loaded, void* to, uint64_t stored) { SIMRUN_CONVERT("xsave64"); }
void store_compacted(const void* from, uint64_t loaded, void* to, uint64_t stored) { SIMRUN_CONVERT("xsavec64"); }

constexpr uint64_t kKeyRights = 1 << 9, kTileData = 1 << 18;   // components (Intel SDM vol. 1, 13.1)

void write_key_rights(uint32_t rights) { asm volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory"); }

uint32_t key_rights() {
  uint32_t rights;
  asm volatile("rdpkru" : "=a"(rights) : "c"(0) : "rdx");
  return rights;
}

FrameLayout g_layouts[2];   // without and with the tiles' data

// At least `bytes`. A CPUID for each component, which a hypervisor may take microseconds for.
uint32_t standard_bytes(uint64_t components, uint32_t bytes) {
  for (uint32_t component = 2; component < 63; ++component) {
    if (!(components >> component & 1)) continue;
    uint32_t size, offset, c, d;
    __cpuid_count(0xd, component, size, offset, c, d);
    bytes = std::max(bytes, offset + size);
  }
  return bytes;
}

uint64_t extended_control(uint32_t number) {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(number));
  return static_cast<uint64_t>(high) << 32 | low;
}

uint64_t enabled_components() { return extended_control(0); }

// SDM vol. 1, 11.6.6
uint32_t mxcsr_mask() {
  alignas(16) uint8_t image[512] = {};
  asm volatile("fxsave64 (%0)" : : "r"(image) : "memory");
  uint32_t mask;
  std::memcpy(&mask, image + 28, sizeof mask);
  return mask == 0 ? 0xffbf : mask;
}

}  // namespace

const FrameLayout& frame_layout(ThreadContext* c) {
  constexpr uint32_t kInUse = 1;   // XCR0 and XINUSE (Intel SDM vol. 1, 13.2)
  const bool has_tiles = g_layouts[0].components != g_layouts[1].components;
  // The kernel gives the thread room at its first use (arch/x86/kernel/fpu/xstate.c, __xfd_enable_feature).
  if (has_tiles && (extended_control(kInUse) & kTileData) != 0) c->has_used_tiles = 1;
  return g_layouts[c->has_used_tiles];
}

void write_vector_image(const ThreadContext* c, uint8_t* out) {
  const uint64_t held = g_process.xsave_mask;
  std::memset(out, 0, g_process.xsave_standard_bytes);
  store_standard(c->vector_state, held, out, held);
}

void write_vector_frame(ThreadContext* c, const FrameLayout& layout, uint8_t* out) {
  const uint32_t bytes = layout.bytes;
  std::memset(out, 0, bytes);
  store_standard(c->vector_state, g_process.xsave_mask, out, layout.components);
  // x87 and SSE always count as present, so that a handler's changes of their registers take effect (kernel: save_xstate_epilog).
  out[512] |= 3;
  if (layout.components & kKeyRights) out[513] |= kKeyRights >> 8;   // update_pkru_in_sigframe, from 6.12 on
  const SoftwareBytes marks{kMagic1, bytes + 4, layout.components, bytes, {}};
  std::memcpy(out + 464, &marks, sizeof marks);
  std::memcpy(out + bytes, &kMagic2, 4);
}

namespace {

// `loaded`: components that become what the image says, or as at the start.
bool load_image(ThreadContext* c, uint8_t* image, std::optional<uint64_t> components, uint64_t loaded) {
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
  store_compacted(image, loaded, c->vector_state, g_process.xsave_mask);
  return true;
}

}  // namespace

bool read_vector_frame(ThreadContext* c, uint8_t* image, std::optional<uint64_t> components) {
  return load_image(c, image, components, frame_layout(c).components);
}

bool read_vector_image(ThreadContext* c, uint8_t* image) { return load_image(c, image, ~0ull, g_process.xsave_mask); }

void reset_vector_state(ThreadContext* c) {
  const uint64_t live = frame_layout(c).components & ~g_process.xsave_mask;
  store_compacted(kInitialImage, g_process.xsave_mask | (live & ~kKeyRights), c->vector_state, g_process.xsave_mask);
  if (live & kKeyRights) write_key_rights(g_process.initial_key_rights);
}

void read_vector_layout() {
  constexpr uint64_t kInRegisters = 3ull << 17 | kKeyRights;   // AMX tiles, which no code of the engine's touches, and keys, which its accesses obey
  constexpr uint32_t kDefaultKeyRights = 0x55555554;           // all keys but 0 are closed (arch/x86/mm/pkeys.c, init_pkru_value)
  const uint64_t all = enabled_components(), held = all & ~kInRegisters;
  g_process.xsave_mask = held;
  g_process.xsave_standard_bytes = standard_bytes(held, kShortestImage);
  CHECK(g_process.xsave_standard_bytes + 64 <= sizeof(ThreadContext::vector_state));
  g_layouts[0] = {all & ~kTileData, standard_bytes(all & ~held & ~kTileData, g_process.xsave_standard_bytes)};
  g_layouts[1] = {all, standard_bytes(all & kTileData, g_layouts[0].bytes)};
  const bool is_fresh = g_process.header->attached_threads == 0;
  if (all & kKeyRights) g_process.initial_key_rights = is_fresh ? key_rights() : kDefaultKeyRights;
}

bool components_of_frame(const uint8_t* legacy, uint64_t at, std::optional<FrameImage>& image) {
  SoftwareBytes marks;
  std::memcpy(&marks, legacy + 464, sizeof marks);
  image.reset();
  if (marks.magic1 != kMagic1 || marks.xstate_size < kShortestImage || marks.xstate_size > kLongestImage) return true;
  if (marks.xstate_size > marks.extended_size) return true;
  uint32_t second_mark;
  if (!read_app(&second_mark, at + marks.xstate_size, sizeof second_mark)) return false;
  if (second_mark == kMagic2) image = {marks.xfeatures, marks.xstate_size};
  return true;
}

}  // namespace simrun::engine
