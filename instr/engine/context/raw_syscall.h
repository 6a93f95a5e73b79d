// System calls without the C library: no errno, no cancellation, no thread descriptor. Any time. Result as the kernel returns
// it: -errno on failure.
#pragma once

#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>

namespace simrun::engine {

inline int64_t raw_syscall(int64_t number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0, uint64_t f = 0) {
  int64_t result;
  register uint64_t r10 asm("r10") = d;
  register uint64_t r8 asm("r8") = e;
  register uint64_t r9 asm("r9") = f;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

template <typename T>
inline uint64_t word(T* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// No thread with this id executes any more. kill(id, 0) succeeds for a zombie; reading its memory does not: it has none.
inline bool is_gone(uint64_t tid) {
  char byte;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(8), 1};
  return raw_syscall(SYS_process_vm_readv, tid, word(&here), 1, word(&there), 1) == -ESRCH;
}

}  // namespace simrun::engine
