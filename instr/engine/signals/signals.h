// Signals. The engine owns every handler that the application installs and those of all faults; the kernel's signal mask is the
// application's own while it runs. See docs/signals.md for the design and its races.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Selectors (arch/x86/include/asm/segment.h), and the bit of those of a local table.
inline constexpr uint16_t kUserCode = 0x33, kUserData = 0x2b, kUserCode32 = 0x23, kLocalTable = 4;

// struct sigaction as the kernel has it (arch/x86/include/uapi/asm/signal.h).
struct KernelAction {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};

// struct ucontext of a 64-bit signal frame (arch/x86/include/uapi/asm/ucontext.h, sigcontext.h).
struct KernelUcontext {
  uint64_t flags;
  uint64_t link;
  stack_t stack;
  uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
  uint16_t cs, gs, fs, ss;
  uint64_t error, trapno, oldmask, cr2;
  uint64_t fpstate;
  uint64_t reserved[8];
  uint64_t mask;
};
static_assert(sizeof(KernelUcontext) == 304);

struct SignalFrame {
  uint64_t restorer;
  KernelUcontext context;
  siginfo_t info;
};
static_assert(sizeof(SignalFrame) == 440);

// Takes over the faults' handlers and remembers what the application inherits.
void start_signals();
// The kernel gets what belongs to the actions that start_signals found: others came in between.
void restore_unowned_actions();
// Gives the calling kernel thread the engine's signal stack, with the context at its top. `base` is aligned to kSignalStackBytes.
void use_signal_stack(ThreadContext* context, void* base);

// Kernel-level handler, through the emitted entry; returns 1 when the thread is to go on at a routine of the engine's, with its GS base,
// whatever that was. Any time.
uint64_t handle_signal(int number, siginfo_t* info, KernelUcontext* context);

// The fault that the handler found has been turned into a departure: ends the stream of the cut superblock.
void publish_fault(ThreadContext* context);

// What came of the thread's last careful copy that failed (context/app_memory.h).
struct CopyFault {
  int number = 0, code = 0;
};
CopyFault last_copy_fault();

// A signal has come, to a handler or to a call that waits for it; `code` and `sender` as in its siginfo. For simrun not to pass on what came here
// too (cli/terminal_signals.h).
void note_arrival(int number, int code, pid_t sender);

// From here on frames show this one.
void note_trap(ThreadContext* context, const Trap& trap);

// Gives the pending signal to the application: frame, handler, mask; or its default action.
void deliver_signal(ThreadContext* context);

// The application's system calls.
int64_t do_sigaction(ThreadContext* context);
int64_t do_sigaltstack(ThreadContext* context);
// False: a signal comes first, nothing happened.
bool do_sigreturn(ThreadContext* context);

// A signal for what the application just did, forced upon it as the kernel does (kernel/signal.c, force_sig_info): pending afterwards. False:
// another one is pending and comes first; the application must do again what it did when that one's handler has returned.
// `trap`: kNoTrap when it does not come from the processor.
inline constexpr Trap kNoTrap{~uint64_t{0}, 0, 0};
bool raise_signal(ThreadContext* context, const siginfo_t& info, const Trap& trap);
// The same, but first: another one that is pending goes back to the kernel.
void raise_signal_first(ThreadContext* context, const siginfo_t& info, const Trap& trap);
[[noreturn]] void end_by_signal(ThreadContext* context, int number);
// kill, tkill and tgkill by which the thread ends its process with a core file: returns only when it is not such a call (false), or the process
// lives on (true: the call is done).
bool end_by_own_call(ThreadContext* context, uint64_t call);

// As #GP with this error code.
void raise_general_protection(ThreadContext* context, uint64_t error);
// As for an access that failed, of any address. By the stack segment are pushes, pops, and operands with rsp or rbp as their base.
enum class BadAccess : uint8_t { kRead, kWrite };
enum class BySegment : uint8_t { kStack, kOther };
void raise_bad_access(ThreadContext* context, uint64_t address, BadAccess access, BySegment segment);
// A fault that the dispatcher finds: nothing executable at pc, or no instruction.
void raise_not_executable(ThreadContext* context);

// Ignored fault signals stay ignored over exec: the kernel must know while the call is made.
void ignore_faults_for_exec();
void own_faults_again();

// For children that go on natively: the kernel gets the application's own handlers back, unless it has cleared them; `frame` gets the
// application's state.
void restore_native_actions(bool cleared);
void fill_frame(ThreadContext* context, KernelUcontext& out, uint64_t fpstate);

}  // namespace simrun::engine
