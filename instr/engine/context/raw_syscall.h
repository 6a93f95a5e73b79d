// System calls without the C library: no errno, no cancellation, no thread descriptor. Any time. Result as the kernel returns
// it: -errno on failure.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

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

// Signal mask of the kernel thread; returns the old one.
inline uint64_t set_signal_mask(uint64_t mask) {
  uint64_t old = 0;
  raw_syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, word(&mask), word(&old), 8);
  return old;
}

// All that the engine keeps from coming while it must not be disturbed: not the faults, which the kernel would turn into death. They come
// from careful copies (app_memory.h), and from the application while a signal waits for its safe point.
inline constexpr uint64_t kAllSignals =
    ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1));

}  // namespace simrun::engine
