// Copies between the engine and application memory that the application named in a system call: a bad address is an error, not a fault.
// Any time.
#pragma once

#include <sys/uio.h>

#include <cstdint>

#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"

namespace simrun::engine {

// The kernel copies; by thread id: the process id has no memory once the first thread has ended.
inline bool kernel_copy(int64_t call, const void* local, uint64_t remote, uint64_t bytes) {
  iovec mine{const_cast<void*>(local), bytes};
  iovec theirs{reinterpret_cast<void*>(remote), bytes};
  const int64_t done = raw_syscall(call, static_cast<uint64_t>(raw_syscall(SYS_gettid)), word(&mine), 1, word(&theirs), 1, 0);
  return done == static_cast<int64_t>(bytes);
}

// The processor copies, with faults allowed: makes a stack grow, which remote copies do not since Linux 6.5, and needs no permission.
inline bool direct_copy(void* to, const void* from, uint64_t bytes) {
  const FaultsAllowed allowed;
  return g_routines.copy(to, from, bytes) != 0;
}

inline bool read_app(void* to, uint64_t from, uint64_t bytes) {
  return kernel_copy(SYS_process_vm_readv, to, from, bytes) || direct_copy(to, reinterpret_cast<const void*>(from), bytes);
}
// Gives the application's memory its write permission back where the engine has taken it (dispatch/stable_code.h); false: it has not, now.
bool make_writable(uint64_t from, uint64_t bytes);
// Changes whenever anything is given back, before others can see that.
uint64_t times_given_back();

inline bool write_app(uint64_t to, const void* from, uint64_t bytes) {
  const auto copy = [&] { return kernel_copy(SYS_process_vm_writev, from, to, bytes) || direct_copy(reinterpret_cast<void*>(to), from, bytes); };
  // Another thread may protect it again at any time. Where this one cannot write and nothing is or was protected meanwhile, nobody can.
  for (;;) {
    const uint64_t before = times_given_back();
    if (copy()) return true;
    if (!make_writable(to, bytes) && times_given_back() == before) return false;
  }
}

}  // namespace simrun::engine
