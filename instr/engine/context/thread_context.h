// The context of one application thread. The GS base points here whenever the thread runs application code, from the code cache or
// in the dispatcher; emitted code spills into it and reads the buffer pointer and limit from it. It lies in a slot of the shared mapping, so
// that the simulator sees `ThreadSlot` without any help from the thread.
//
// Who writes what: the thread itself everything, except `limit` (anyone may store 0 to call the thread to a safe point) and the ring fields of the consumer.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "instr/border/shared_memory.h"
#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

// Why a thread left the code cache: values below kFirstExit in `exit_id`; others name an exit of a superblock (code_cache.h).
enum FixedExit : uint32_t {
  kExitStart,         // first entry of a thread: nothing to do but to find the code
  kExitIndirect,      // indirect target `pc` is not in the table
  kExitFault,         // a fault in the code cache; `pending` holds the signal if it is one for the application, the registers are exact
  kFirstExit = 16,
};

// One signal taken from the kernel and not yet given to the application. All signals are blocked in the kernel while `number` != 0
// so there is never a second one (docs/signals.md).
// What the kernel shows of a fault in the frames of its signal and of all that follow (arch/x86/include/asm/processor.h, thread_struct).
struct Trap {
  uint64_t number, error, cr2;
};

struct PendingSignal {
  std::atomic<uint32_t> number;
  siginfo_t info;
  uint64_t error, trapno, cr2;   // as in the kernel's frame
  bool fault;                    // the kernel insists on it: no handler, or a blocked one, is death
};

// The application's registers while it is not running, by hardware number.
struct Registers {
  uint64_t gpr[16];
  uint64_t flags;
  uint64_t pc;
};

struct ThreadIdentity;   // threads/identity.h
struct FilterChain;      // syscalls/seccomp.cpp
struct SignalActions;    // signals/actions.cpp

// syscalls/user_dispatch.h
struct UserDispatch {
  uint64_t on, offset, bytes, selector;
};

// A single step under the trap flag (runtime/single_step.h).
enum class Step : uint32_t { kNone, kPlain, kPushFlags64, kPushFlags16, kStackSegment, kRepeat, kRepeatWhileEqual, kRepeatWhileUnequal };

// Bits of a target's address that are its place in the table of indirect targets, of processors with BMI2.
inline constexpr uint8_t kIndirectShift = 2;
inline constexpr uint64_t kIndirectMask = 0xffffull << kIndirectShift;
// Places of that table (dispatch/indirect_table.h).
inline constexpr uint32_t kAllIndirectPlaces = border::kIndirectTableBytes / 8, kFewIndirectPlaces = kAllIndirectPlaces / 8;

struct ThreadContext : border::ThreadSlot {
  // Read or written by emitted code through gs:[offset].
  uint64_t spill[16];          // application values of registers that hold something of ours, by hardware number
  uint64_t flags_spill;        // rax during a flag-saving limit check
  uint64_t lent_pointer;       // trace mode: the buffer pointer while its register is lent to an instruction
  std::atomic<uint64_t> minus_limit;   // -limit, or 0: for checks that leave the flags alone. Whoever writes `limit` writes this behind it
  uint64_t jump_target;        // code address for the last jump of `enter`
  uint64_t string_bytes;       // count_paths: that repeated string instructions have gone over
  uint32_t comparisons_left;   // of code that can change, until dispatch/stable_code.h is asked
  uint32_t exit_id;            // FixedExit or exit of a superblock
  uint32_t default_mxcsr;
  Registers app;
  uint64_t app_fs_base;
  uint64_t app_gs_base;        // virtual: the real GS base is ours
  uint64_t engine_fs_base;
  uint64_t engine_sp;          // top of the engine stack; nothing lives on it across a run in the code cache
  ThreadContext* self;         // target address of this context

  // Read by the engine's C++ only.
  PendingSignal pending;
  Trap last_trap;   // as natively: not those of the engine's own faults
  PendingSignal fault_behind;  // the SIGSEGV of the instruction before which `pending` came to be delivered; number 0: none
  uint64_t app_mask;           // the application's signal mask
  uint64_t call_mask;          // the mask for the time of a sigsuspend-like call that a signal has interrupted
  uint32_t view_attempts;      // how often in a row view_descriptor was made anew for a read that a signal then prevented
  int64_t view_descriptor;
  uint32_t has_call_mask;
  uint64_t call_to_restart;    // attached in this call, which restart_syscall goes on with; 0: none
  uint64_t interrupted;        // attached in the call at app.pc, not made again yet: what the kernel said of it (AttachedThread); 0: none
  stack_t app_altstack;
  uint32_t slot;
  uint32_t parent_slot;
  uint32_t begins_process;     // it is no thread of its parent's process
  uint32_t pid_namespace;      // equal where `tid` means the same; 0 is that of the program
  uint32_t tid;
  uint32_t waited_in_vain;     // for others, before a call that was to end the process; it is made again if a signal came first, maybe every time
  uint64_t stage;              // where emitted code stores words; 0: in the ring itself
  uint64_t copied;             // words of the stage before this are in the ring
  uint64_t normal_limit;       // what `limit` is when nobody wants the thread to stop
  // Count mode (instrument/budget.h).
  uint64_t reported_retired;   // in the stream already
  uint64_t harvested_at;       // `retired` when the path counters were last reported
  uint64_t next_stop;          // the thread must be in the dispatcher when it has retired exactly so many
  uint32_t next_switch;        // the first entry of the table of mode switches that is still to come
  border::Mode mode;           // of its stream: the process's, or that before (runtime/mode_switch.h)
  // With mode switches, in trace mode: instructions of its stream that are not in `retired`, up to the word at `traced_to`.
  uint64_t traced, traced_to;
  ThreadIdentity* identity;
  SignalActions* actions;      // shared with whoever was made with CLONE_SIGHAND
  const FilterChain* filters;  // seccomp filters, the newest first; children inherit them
  uint32_t strict;             // seccomp's strict mode
  uint32_t call_allowed;       // the filters allow the call that is being made, as the program makes it
  uint32_t tsc_refused;        // prctl(PR_SET_TSC, PR_TSC_SIGSEGV); threads inherit it
  UserDispatch user_dispatch;
  Step step;                   // the thread is in the code of one instruction, for a step
  uint64_t step_pc;            // of a string instruction that is repeated; rcx before and behind this repetition
  uint64_t step_counter, step_counter_behind;
  uint32_t goes_alone;         // the instruction at app.pc runs in code of its own: x87's last instruction pointer is settled, or it is a popf that sets the trap flag
  uint32_t check_countdown;    // force_safe_points
  std::atomic<uint64_t> call_in_progress;   // number of the system call + 1; 0: none (dispatch/stable_code.h)
  uint32_t open_to_faults;     // 1: in the code cache with SIGSEGV not blocked, which the application blocks (dispatch/stable_code.h)
  uint32_t took_blocked;       // 1: it has taken one then that was sent
  uint32_t mask_is_looked_at;  // 1: whether it does is known, and no
  uint64_t write_to_code;      // where a write is to be done again, for it met code that is protected; 0: none
  std::atomic<uint32_t> cut_untold;   // 1: a fault has cut a superblock, which is not in the stream yet (signals/signals.h: publish_fault)
  uint32_t has_called;         // a system call other than futex, since it is in the engine
  uint32_t has_used_tiles;     // AMX's; looked at for frames only
  uint32_t last_event;         // ring of events for fault reports
  struct { uint64_t kind, value; } events[32];

  // xsavec image of the application's vector state; valid while the thread is in the engine.
  alignas(64) uint8_t vector_state[11 * 1024];
};
static_assert(sizeof(ThreadContext) <= border::kSlotBytes);
static_assert(offsetof(ThreadContext, vector_state) % 64 == 0);

// Of the engine's signal stacks, which are aligned to their size and hold a ThreadContext* in their last 8 bytes.
inline constexpr uint64_t kSignalStackBytes = 64 * 1024;

inline constexpr uint32_t kIndirectTableOffset = border::kSlotBytes;   // from the GS base

}  // namespace simrun::engine
