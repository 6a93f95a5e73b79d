// Where the engine's memory lies in the target. Far from what kernel and C libraries use, and free or reserved without access
// (syscalls/mapping_calls.cpp: reserve_around) in the fixed shadow layouts of AddressSanitizer, ThreadSanitizer and
// MemorySanitizer on x86-64 (compiler-rt: asan_mapping.h, tsan_platform.h, msan.h), of Go's heap (0xc0...) and of Java's ZGC
// (up to 0x14...). All in one place: 64 TiB in one piece are left below.
#pragma once

#include <cstdint>

namespace simrun::border {

// The shared mapping; the others are for programs that linked themselves there.
inline constexpr uint64_t kSharedAreas[] = {0x4c00'0000'0000, 0x4800'0000'0000, 0x4400'0000'0000, 0x4000'0000'0000,
                                            0x2400'0000'0000};
inline constexpr uint64_t kCodeCacheArea = 0x4d00'0000'0000;
inline constexpr uint64_t kEngineDataArea = 0x4e00'0000'0000;   // grows upwards

// Here nothing is mapped that only reserves addresses: the engine grows.
inline constexpr uint64_t kEngineAreaBegin = 0x4c00'0000'0000, kEngineAreaEnd = 0x5000'0000'0000;

}  // namespace simrun::border
