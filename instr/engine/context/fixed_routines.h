// The emitted routines that are not translations: the border between application code in the code cache and the engine's C++, and
// the system-call gate. Emitted once at the start of the code cache; pseudo-code stands above each in fixed_routines.cpp.
#pragma once

#include <cstdint>

#include "instr/engine/codecache/code_cache.h"
#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

struct FixedRoutines {
  uint64_t leave;           // from the code cache: all registers are the application's; ends in dispatch()
  uint64_t enter;           // rax: code address to go on at
  uint64_t indirect_miss;   // r11: target not in the table; r11 and rcx in their spill slots
  uint64_t indirect_miss_of[3];   // by mode: the same from a translation, which hands its buffer pointer on (translate/translator.h)

  // The gate: does the system call of `context->app` with the application's registers. Returns 0 when a signal is pending and the call was
  // not made. `abort` is where a signal handler sends a thread that it finds in [begin, instruction].
  uint64_t (*gate)(ThreadContext* context);
  uint64_t gate_begin, gate_instruction, gate_abort;
  // The same for 32-bit system calls; 2: the kernel does not know int 0x80.
  uint64_t (*gate32)(ThreadContext* context);
  uint64_t gate32_begin, gate32_instruction, gate32_abort, gate32_failed;

  // A clone-like call with the arguments {rax, rdi, rsi, rdx, r10, r8, r9} of `arguments`; the child jumps to `child` with r12 = `value`.
  int64_t (*clone)(const uint64_t* arguments, uint64_t child, void* value);
  uint64_t clone_instruction;
  // The same where seccomp filters let everything pass: they have allowed the program's call, which is not quite this one.
  int64_t (*judged_clone)(const uint64_t* arguments, uint64_t child, void* value);
  uint64_t judged_clone_instruction;
  uint64_t thread_start;    // child of a thread-like clone: r12 = its ThreadContext
  uint64_t process_start;   // child that is a process: r12 = ChildProcess

  // Marks the thread dead, releases its identity, exits by `call` (exit or exit_group): touches no stack after the first of them.
  void (*exit_thread)(uint64_t status, uint32_t state, uint32_t* released, uint64_t call);

  // memcpy between the engine and application memory that may not be there: 1, or 0 after a fault at `copy_instruction`, which a signal
  // handler sends to `copy_failed`. Unlike the kernel's process_vm calls it makes a stack grow.
  uint64_t (*copy)(void* to, const void* from, uint64_t bytes);
  uint64_t copy_instruction, copy_failed;

  uint64_t signal_entry;    // kernel-level handler of every signal that the engine takes
  uint64_t signal_restorer;

  uint64_t end;             // of all routines, which are the first in the code cache
};

extern FixedRoutines g_routines;

void emit_fixed_routines(CodeCache& cache, uint64_t xsave_mask);

// Continues a thread at `code` from the engine (first entry).
[[noreturn]] void enter_code_cache(ThreadContext* context, uint64_t code);

}  // namespace simrun::engine
