// The memory of translated code: one memfd mapped writable at one address and executable at others, so that no page is ever writable
// and executable at one address. Code is executed in a *view*: one lies near the libraries, one, if the program is position-independent,
// near the program, so that what an instruction reaches by rip is within 2 GiB in either. All jumps within the cache are relative, so they
// stay in the view; only addresses that are kept (of indirect targets, of direct ones in the other view, for the dispatcher)
// name a view. Two areas, each with a bump pointer: hot code, and cold code (exit stubs, slow paths) that would only spread the
// hot code over more cache lines and pages. When one is full everything is flushed (dispatch/flush.h).
// Dispatcher only, under the translation lock, but for reading `execute_base`.
#pragma once

#include <cstdint>

namespace simrun::engine {

class CodeCache {
 public:
  // Maps `bytes` (rounded up to pages), where there is room near the application's shared libraries and near the program. Returns false
  // with errno set.
  bool create(uint64_t bytes);

  uint64_t execute_base() const { return execute_base_; }
  uint64_t capacity() const { return capacity_; }
  bool contains(uint64_t code) const { return code - execute_base_ < capacity_ || (near_program_ != 0 && code - near_program_ < capacity_); }

  // The view for code of the application at `pc`, as the distance from the other one, in which `address` and `execute_base` count.
  uint64_t view_for(uint64_t pc) const { return near_program_ != 0 && pc - (near_program_ - kNear) < 2 * kNear ? near_program_ - execute_base_ : 0; }
  uint64_t view_of(uint64_t code) const { return code - execute_base_ < capacity_ ? 0 : near_program_ - execute_base_; }

  enum Area { kHot, kCold };
  // Offset of the next free byte, and bytes left behind it.
  uint32_t used(Area area) const { return used_[area]; }
  uint32_t space(Area area) const { return end_[area] - used_[area]; }

  uint8_t* write_pointer(uint32_t offset) const { return write_base_ + offset; }
  uint64_t address(uint32_t offset) const { return execute_base_ + offset; }
  uint32_t offset_of(uint64_t code) const { return static_cast<uint32_t>(code - view_of(code) - execute_base_); }

  // The caller wrote `bytes` bytes at `used(area)`.
  void commit(Area area, uint32_t bytes);
  // What lies below is never flushed (the fixed routines).
  void keep_below() { kept_ = used_[kHot]; }
  bool is_kept(uint64_t code) const { return offset_of(code) < kept_; }
  void flush();

  // For a child of fork, which shares this memory with its parent: what is never flushed copied into the file `descriptor` (of `capacity()`
  // bytes); all mappings moved to that file. False with errno set.
  bool copy_kept_to(int descriptor) const;
  bool move_to(int descriptor);

  // Stores a 4-byte displacement that lies within one cache line so that processors that run this code see the old or the new one.
  void patch_displacement(uint32_t at, uint64_t target_code) const;
  // Makes the jump with its displacement at `at` a nop of the same length, for what comes right behind it: a jump there would be taken. Only
  // while no other thread may run the code. False: it is a conditional one.
  bool drop_jump(uint32_t at) const;
  // A jump that was dropped is one again, to what comes right behind it.
  void restore_jump(uint32_t at) const;

 private:
  static constexpr uint64_t kNear = 1ull << 30;   // code so far from the view still has all that it reaches within 2 GiB, as a rule

  uint8_t* write_base_ = nullptr;
  uint64_t execute_base_ = 0;
  uint64_t near_program_ = 0;  // the second view; 0: none, nothing is there
  uint64_t capacity_ = 0;
  uint32_t used_[2] = {};
  uint32_t end_[2] = {};
  uint32_t kept_ = 0;
  uint32_t collapsed_ = 0;     // hot bytes that lie in huge pages
};

}  // namespace simrun::engine
