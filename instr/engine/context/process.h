// What the engine knows of the process it lives in: set once in main, read everywhere.
#pragma once

#include <atomic>
#include <cstdint>

#include "instr/border/shared_memory.h"
#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

struct Process {
  border::ProcessHeader* header;
  uint8_t* base;                       // of the shared mapping
  int64_t pid;                         // whose memory it is; processes that were made to share it have others
  uint64_t* indirect_table;            // code addresses by indirect_index modulo indirect_places; every slot's window shows it too
  uint32_t indirect_places;            // kAllIndirectPlaces, or kFewIndirectPlaces while one thread has few targets (dispatch/indirect_table.h)
  uint64_t xsave_mask;                 // components that the engine saves and restores; others stay in the thread's registers (protection keys, AMX tiles)
  std::atomic<bool> user_faults;       // the program has had a userfaultfd: its threads may wait for pages that others bring
  uint32_t xsave_standard_bytes;       // size of the standard-format image of xsave_mask
  uint32_t initial_key_rights;         // PKRU at the start of a program and of a handler
  void (*going_native)();              // what `syscalls` has to do in a child that leaves the engine; there it must not lock

  ThreadContext* slot(uint32_t index) const {
    return reinterpret_cast<ThreadContext*>(base + header->slots_offset + index * header->slot_bytes);
  }
  border::Mode mode;                   // changes only while the world is stopped (runtime/mode_switch.cpp)
  bool tracing() const { return mode == border::Mode::kTrace; }
  bool counting() const { return mode == border::Mode::kCount; }
  bool has_streams() const { return header->mode != border::Mode::kNull; }
  bool has_reader() const { return has_streams() && header->drops_streams == 0; }
};

extern Process g_process;

// The calling process was made with CLONE_VM, and is not a thread of that whose memory this is.
bool borrows_memory();

inline ThreadContext* current_context() {
  ThreadContext* context;
  asm volatile("mov %%gs:%c1, %0" : "=r"(context) : "i"(offsetof(ThreadContext, self)));
  return context;
}

// Leaves a line in the header for the simulator, and ends the process.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
// The same for what is the engine's own fault: with a report (runtime/fault_report.h).
[[noreturn]] void fail_inside(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace simrun::engine
