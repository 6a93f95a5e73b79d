// Code may lie where its thread may not read: processors with protection keys fetch it all the same (Intel SDM vol. 3, 5.13.2), and Linux gives
// memory that is executable only a key of its own. As long as one of these lives, the thread may read and write whatever is mapped so.
#pragma once

#include <cstdint>

namespace simrun::engine {

extern bool g_has_protection_keys;   // set at start; false: none of this

class CodeAccess {
 public:
  CodeAccess() {
    if (!g_has_protection_keys) return;
    asm volatile("rdpkru" : "=a"(rights_) : "c"(0) : "rdx");
    if (rights_ != 0) set(0);
  }
  ~CodeAccess() {
    if (rights_ != 0) set(rights_);
  }
  CodeAccess(const CodeAccess&) = delete;
  CodeAccess& operator=(const CodeAccess&) = delete;

 private:
  static void set(uint32_t rights) { asm volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory"); }
  uint32_t rights_ = 0;
};

}  // namespace simrun::engine
