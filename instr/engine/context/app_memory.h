// Copies between the engine and application memory that the application named in a system call: a bad address is an error, not a fault.
// Any time.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {

inline bool copy_memory(int64_t call, const void* local, uint64_t remote, uint64_t bytes) {
  iovec mine{const_cast<void*>(local), bytes};
  iovec theirs{reinterpret_cast<void*>(remote), bytes};
  // By thread id: the process id has no memory once the first thread has ended.
  return raw_syscall(call, static_cast<uint64_t>(raw_syscall(SYS_gettid)), word(&mine), 1, word(&theirs), 1, 0) == static_cast<int64_t>(bytes);
}

inline bool read_app(void* to, uint64_t from, uint64_t bytes) { return copy_memory(SYS_process_vm_readv, to, from, bytes); }
inline bool write_app(uint64_t to, const void* from, uint64_t bytes) { return copy_memory(SYS_process_vm_writev, from, to, bytes); }

}  // namespace simrun::engine
