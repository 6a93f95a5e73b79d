// System calls by `int 0x80` in 64-bit code: the kernel's 32-bit entry, with numbers of its own
// (arch/x86/entry/syscalls/syscall_32.tbl). Most go through a gate of their own. Those whose effect the engine must see
// are few in 64-bit programs: what it cannot do is refused.
#include <linux/audit.h>

#include <array>

#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/stable_code.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/syscalls/mapping_calls.h"
#include "instr/engine/syscalls/syscalls.h"
#include "instr/engine/syscalls/user_dispatch.h"
#include "instr/engine/threads/threads.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kInstructionBytes = 2;
constexpr uint64_t kMark = 1ull << 32;  // in the stream: a 32-bit number

// With 64-bit arguments in place of the program's registers for the time of `call`, which returns false when a signal
// comes first.
template <typename Call>
bool with_arguments(ThreadContext* c, uint64_t number, const std::array<uint64_t, 5>& arguments, Call&& call) {
  const Registers before = c->app;
  uint64_t* const g = c->app.gpr;
  g[kRax] = number;
  g[kRdi] = arguments[0], g[kRsi] = arguments[1], g[kRdx] = arguments[2], g[kR10] = arguments[3], g[kR8] = arguments[4];
  const bool done = call();
  const uint64_t result = c->app.gpr[kRax];
  c->app = before;
  if (done) c->app.gpr[kRax] = result;
  return done;
}

// The 64-bit number of a call that changes mappings; 0: it is another.
uint64_t mapping_call(uint64_t number) {
  switch (number) {
    case 91:
      return SYS_munmap;
    case 125:
      return SYS_mprotect;
    case 163:
      return SYS_mremap;
    case 192:
      return SYS_mmap;
    default:
      return 0;
  }
}

// The 64-bit number of a call that takes the same arguments, and that the engine answers or watches; 0: it is another.
uint64_t same_call(uint64_t number) {
  switch (number) {
    case 45:
      return SYS_brk;
    case 144:
      return SYS_msync;
    case 150:
      return SYS_mlock;
    case 151:
      return SYS_munlock;
    case 152:
      return SYS_mlockall;
    case 153:
      return SYS_munlockall;
    case 218:
      return SYS_mincore;
    case 219:
      return SYS_madvise;
    default:
      return 0;
  }
}

bool is_beyond_engine(uint64_t number) {
  switch (number) {
    case 11:
    case 358:  // execve, execveat
    case 48:
    case 67:
    case 119:
    case 173:
    case 174:
    case 186:  // signal, sigaction, sigreturn, rt_sigreturn, rt_sigaction, sigaltstack
    case 90:   // old mmap
    case 120:
    case 435:  // clone, clone3
      return true;
    default:
      return false;
  }
}

// kernel/seccomp.c, mode1_syscalls_32: exit, read, write, sigreturn.
bool is_allowed_in_strict_mode(uint64_t number) { return number == 1 || number == 3 || number == 4 || number == 119; }

bool through_gate(ThreadContext* c) {
  const uint64_t outcome = g_routines.gate32(c);
  if (outcome != 2) return outcome != 0;
  // No 32-bit calls in this kernel: a general-protection fault at the instruction (arch/x86/kernel/traps.c).
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_KERNEL;
  raise_signal(c, info, {13 /* X86_TRAP_GP */, 0x402, 0});
  return false;
}

bool perform(ThreadContext* c, uint64_t number) {
  const uint64_t* g = c->app.gpr;
  const auto narrow = [](uint64_t value) { return value & 0xffffffff; };
  const std::array<uint64_t, 5> arguments = {narrow(g[kRbx]), narrow(g[kRcx]), narrow(g[kRdx]), narrow(g[kRsi]),
                                             narrow(g[kRdi])};
  switch (number) {
    case 2:
      c->call_allowed = 0;
      return with_arguments(c, SYS_fork, {}, [&] { return do_fork(c, 0); });
    case 190:
      c->call_allowed = 0;
      return with_arguments(c, SYS_vfork, {}, [&] { return do_fork(c, CLONE_VFORK | CLONE_VM); });
    case 252:
      prepare_end_of_process(c);
      return with_arguments(c, SYS_exit_group, arguments, [&] { return survives_end_of_process(c, pass_through(c)); });
    default:
      break;
  }
  if (const uint64_t same = same_call(number)) return with_arguments(c, same, arguments, [&] { return watched_call(c, same); });
  const uint64_t mapping = mapping_call(number);
  if (mapping != 0) before_mapping_call(mapping, arguments.data());
  if (!through_gate(c)) {
    if (mapping != 0) undo_before_mapping_call(mapping, arguments.data());
    return false;
  }
  if (mapping != 0) after_mapping_call(c, mapping, arguments.data());
  return true;
}

}  // namespace

void do_syscall32(ThreadContext* c) {
  const uint64_t number = c->app.gpr[kRax] & 0xffffffff;
  c->events[c->last_event++ % 32] = {2000 + number, c->app.gpr[kRbx]};
  if (c->pending.number.load(std::memory_order_relaxed) != 0) {
    c->app.pc -= kInstructionBytes;
    return;
  }
  if (c->user_dispatch.on != 0 && dispatch_to_user(c, number, AUDIT_ARCH_I386)) return;
  if (c->strict != 0 && !is_allowed_in_strict_mode(number)) kill_thread(c);
  if (is_beyond_engine(number))
    fail(
        "the program makes the 32-bit system call %lu (int 0x80) at %#lx: simrun cannot do this one for 64-bit "
        "programs",
        number, c->app.pc - kInstructionBytes);
  if (number == 1) {
    const uint64_t kept = c->app.gpr[kRdi];
    c->app.gpr[kRdi] = c->app.gpr[kRbx] & 0xffffffff;
    end_thread(c, SYS_exit);
    c->app.gpr[kRdi] = kept;
    c->app.pc -= kInstructionBytes;
    return;
  }
  const CallInProgress in_progress(c, kMark | number);
  append_event(c, border::Event::kSyscallEnter, {kMark | number, 1});
  set_thread_state(c, border::ThreadState::kInKernel);
  const uint64_t pc = c->app.pc;
  const bool done = perform(c, number);
  set_thread_state(c, border::ThreadState::kRunning);
  append_event(c, border::Event::kSyscallExit, {kMark | number, done ? c->app.gpr[kRax] : kNotDone});
  if (done)
    c->interrupted = 0;
  else
    c->app.pc = pc - kInstructionBytes;
}

}  // namespace simrun::engine
