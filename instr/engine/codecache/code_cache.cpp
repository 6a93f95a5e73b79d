#include "instr/engine/codecache/code_cache.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "base/check.h"
#include "base/process_maps.h"
#include "instr/border/address_areas.h"
#include "instr/engine/codecache/memory_file.h"

namespace simrun::engine {
namespace {

#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25;   // include/uapi/asm-generic/mman-common.h
#endif
constexpr uint32_t kHugePage = 2u << 20;

// The kernel leaves a gap between the top of the mmap area and the stack (arch/x86/mm/mmap.c, mmap_base: at least 128 MiB, at least the
// stack limit). Mappings without an address never land there, and it is within 2 GiB of the shared libraries. 0: there is none.
uint64_t gap_above_libraries(const std::vector<MapsEntry>& maps, uint64_t bytes) {
  uint64_t previous_end = 0, found = 0;
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  for (const MapsEntry& e : maps) {
    if (e.path == "[stack]") {
      const uint64_t candidate = (previous_end + 0x1fffff) & ~0x1fffffull;
      const uint64_t stack_floor = e.end - (stack.rlim_cur < (1ull << 40) ? stack.rlim_cur : e.end) - (16ull << 20);
      if (candidate + bytes < stack_floor && stack_floor < e.end) found = candidate;
    }
    previous_end = e.end;
  }
  return found;
}

// Below the program, where the kernel puts those that are position-independent (ELF_ET_DYN_BASE, arch/x86/include/asm/elf.h): its heap grows
// upwards. 0: there is none.
uint64_t gap_below_program(const std::vector<MapsEntry>& maps, uint64_t bytes) {
  constexpr uint64_t kProgramsBegin = 0x5555'0000'0000, kProgramsEnd = 0x5660'0000'0000, kApart = 4u << 20;
  uint64_t previous_end = 0;
  for (const MapsEntry& e : maps) {
    if (e.start >= kProgramsEnd) break;
    const uint64_t candidate = (e.start - bytes - kApart) & ~(kHugePage - 1ull);
    if (e.start >= kProgramsBegin && candidate > previous_end) return candidate;
    previous_end = e.end;
  }
  return 0;
}

// One of the mappings of the code; not for core files, which are the program's.
void* map_view(uint64_t at, uint64_t bytes, int protection, int flags, int descriptor) {
  void* const view = mmap(reinterpret_cast<void*>(at), bytes, protection, MAP_SHARED | flags, descriptor, 0);
  if (view != MAP_FAILED) madvise(view, bytes, MADV_DONTDUMP);
  return view;
}

constexpr int kWritable = PROT_READ | PROT_WRITE, kExecutable = PROT_READ | PROT_EXEC;

}  // namespace

bool CodeCache::create(uint64_t bytes) {
  capacity_ = (bytes + 4095) & ~4095ull;
  const int fd = make_memory_file("simrun-code-cache", capacity_);
  if (fd < 0) return false;
  std::vector<MapsEntry> maps;
  read_maps_file("/proc/thread-self/maps", &maps);   // not known: the code lies farther away
  void* writable = map_view(border::kCodeCacheArea, capacity_, kWritable, 0, fd);
  void* executable = MAP_FAILED;
  if (writable != MAP_FAILED) {
    if (const uint64_t hint = gap_above_libraries(maps, capacity_))
      executable = map_view(hint, capacity_, kExecutable, MAP_FIXED_NOREPLACE, fd);
    if (executable == MAP_FAILED) executable = map_view(border::kCodeCacheArea + (1ull << 39), capacity_, kExecutable, 0, fd);
  }
  if (executable != MAP_FAILED) {
    if (const uint64_t hint = gap_below_program(maps, capacity_); hint != 0 && map_view(hint, capacity_, kExecutable, MAP_FIXED_NOREPLACE, fd) != MAP_FAILED)
      near_program_ = hint;
  }
  close(fd);
  if (executable == MAP_FAILED) return false;
  write_base_ = static_cast<uint8_t*>(writable);
  execute_base_ = reinterpret_cast<uint64_t>(executable);
  // Measured on a compiler and two interpreters: stubs take 0.6 to 0.8 of the bytes of hot code.
  used_[kCold] = end_[kHot] = static_cast<uint32_t>(capacity_ * 11 / 20) & ~63u;
  end_[kCold] = static_cast<uint32_t>(capacity_);
  return true;
}

void CodeCache::commit(Area area, uint32_t bytes) {
  used_[area] += bytes;
  if (area == kCold) return;
  // A filled stretch of 2 MiB becomes one huge page where the kernel can do it (Linux 6.1), else nothing happens. Measured on a
  // compiler (null mode), together with the cold code apart: 9.3 to 7.7 s of CPU.
  while (used_[kHot] >= collapsed_ + kHugePage) {
    for (const uint64_t view : {execute_base_, near_program_})
      if (view != 0) madvise(reinterpret_cast<void*>(view + collapsed_), kHugePage, MADV_COLLAPSE);
    collapsed_ += kHugePage;
  }
}

void CodeCache::flush() {
  used_[kHot] = kept_;
  used_[kCold] = end_[kHot];
}

bool CodeCache::copy_kept_to(int descriptor) const {
  return pwrite(descriptor, write_base_, kept_, 0) == static_cast<ssize_t>(kept_);
}

bool CodeCache::move_to(int descriptor) {
  collapsed_ = 0;
  return map_view(reinterpret_cast<uint64_t>(write_base_), capacity_, kWritable, MAP_FIXED, descriptor) != MAP_FAILED &&
         map_view(execute_base_, capacity_, kExecutable, MAP_FIXED, descriptor) != MAP_FAILED &&
         (near_program_ == 0 || map_view(near_program_, capacity_, kExecutable, MAP_FIXED, descriptor) != MAP_FAILED);
}

// A conditional jump has 0x80 to 0x8f in front of its displacement.
constexpr uint8_t kJump[] = {0xe9, 0, 0, 0, 0}, kNop[] = {0x0f, 0x1f, 0x44, 0, 0};

bool CodeCache::drop_jump(uint32_t at) const {
  uint8_t* const jump = write_base_ + at - 1;
  if (*jump != kJump[0]) return false;
  __builtin_memcpy(jump, kNop, sizeof kNop);
  return true;
}

void CodeCache::restore_jump(uint32_t at) const {
  uint8_t* const jump = write_base_ + at - 1;
  if (*jump == kNop[0]) __builtin_memcpy(jump, kJump, sizeof kJump);
}

void CodeCache::patch_displacement(uint32_t at, uint64_t target_code) const {
  DCHECK((address(at) & 63) <= 60);
  const auto distance = static_cast<int32_t>(target_code - (address(at) + 4));
  // One aligned-within-a-line store is seen whole by instruction fetch (Intel SDM vol. 3, 9.1.1 and 9.1.3).
  __atomic_store_n(reinterpret_cast<int32_t*>(write_base_ + at), distance, __ATOMIC_RELEASE);
}

}  // namespace simrun::engine
