// The memory of translated code: one memfd mapped twice, writable here and executable there, so that no page is ever writable
// and executable at one address. Two areas, each with a bump pointer: hot code, and cold code (exit stubs, slow paths) that would only
// spread the hot code over more cache lines and pages. When one is full everything is flushed (dispatch/flush.h).
// Dispatcher only, under the translation lock, but for reading `execute_base`.
#pragma once

#include <cstdint>

namespace simrun::engine {

class CodeCache {
 public:
  // Maps `bytes` (rounded up to pages), the executable alias near the application's shared libraries if there is room, so that most
  // rip-relative operands reach their data unchanged. Returns false with errno set.
  bool create(uint64_t bytes);

  uint64_t execute_base() const { return execute_base_; }
  uint64_t capacity() const { return capacity_; }
  bool contains(uint64_t code) const { return code - execute_base_ < capacity_; }

  enum Area { kHot, kCold };
  // Offset of the next free byte, and bytes left behind it.
  uint32_t used(Area area) const { return used_[area]; }
  uint32_t space(Area area) const { return end_[area] - used_[area]; }

  uint8_t* write_pointer(uint32_t offset) const { return write_base_ + offset; }
  uint64_t address(uint32_t offset) const { return execute_base_ + offset; }
  uint32_t offset_of(uint64_t code) const { return static_cast<uint32_t>(code - execute_base_); }

  // The caller wrote `bytes` bytes at `used(area)`.
  void commit(Area area, uint32_t bytes);
  // What lies below is never flushed (the fixed routines).
  void keep_below() { kept_ = used_[kHot]; }
  void flush();

  // For a child of fork, which shares this memory with its parent: what is never flushed copied into the file `descriptor` (of `capacity()`
  // bytes); both aliases moved to that file. False with errno set.
  bool copy_kept_to(int descriptor) const;
  bool move_to(int descriptor);

  // Stores a 4-byte displacement that lies within one cache line so that processors that run this code see the old or the new one.
  void patch_displacement(uint32_t at, uint64_t target_code) const;

 private:
  uint8_t* write_base_ = nullptr;
  uint64_t execute_base_ = 0;
  uint64_t capacity_ = 0;
  uint32_t used_[2] = {};
  uint32_t end_[2] = {};
  uint32_t kept_ = 0;
  uint32_t collapsed_ = 0;     // hot bytes that lie in huge pages
};

}  // namespace simrun::engine
