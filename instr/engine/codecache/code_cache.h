// The memory of translated code: one memfd mapped twice, writable here and executable there, so that no page is ever writable
// and executable at one address. Allocation is a bump pointer; when it is full everything is flushed (dispatch/flush.h).
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
  uint32_t used() const { return used_; }
  uint32_t space() const { return static_cast<uint32_t>(capacity_) - used_; }

  uint8_t* write_pointer(uint32_t offset) const { return write_base_ + offset; }
  uint64_t address(uint32_t offset) const { return execute_base_ + offset; }
  uint32_t offset_of(uint64_t code) const { return static_cast<uint32_t>(code - execute_base_); }

  // The caller wrote `bytes` bytes at `used()`.
  void commit(uint32_t bytes) { used_ += bytes; }
  // What lies below is never flushed (the fixed routines).
  void keep_below() { kept_ = used_; }
  void flush() { used_ = kept_; }

  // Stores a 4-byte displacement that lies within one cache line so that processors that run this code see the old or the new one.
  void patch_displacement(uint32_t at, uint64_t target_code) const;

 private:
  uint8_t* write_base_ = nullptr;
  uint64_t execute_base_ = 0;
  uint64_t capacity_ = 0;
  uint32_t used_ = 0;
  uint32_t kept_ = 0;
};

}  // namespace simrun::engine
