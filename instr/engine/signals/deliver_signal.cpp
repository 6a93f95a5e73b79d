// From the pending signal to the application: the frame that the kernel would have built, and back (rt_sigreturn).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/processor_features.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/fpu_pointers.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/log.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/actions.h"
#include "instr/engine/signals/core_file.h"
#include "instr/engine/signals/vector_frame.h"
#include "instr/engine/translate/address_space.h"
#include "instr/engine/translate/code_access.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kResumeFlag = 0x10000;
constexpr uint64_t kClearedFlags = 0x400 | 0x100 | kResumeFlag;   // DF, TF, RF
constexpr uint64_t kUserFlags = 0x40dd5;             // what rt_sigreturn restores: CF PF AF ZF SF TF DF OF AC (FIX_EFLAGS)
constexpr uint64_t kStrictSegment = 4;               // UC_STRICT_RESTORE_SS
constexpr uint64_t kUcFlags = 1 /* UC_FP_XSTATE */ | 2 /* UC_SIGCONTEXT_SS */ | kStrictSegment;
constexpr int kAutoDisarm = 1 << 31;

bool within_altstack(const ThreadContext* c, uint64_t sp) {
  const uint64_t base = word(static_cast<char*>(c->app_altstack.ss_sp));
  return sp > base && sp - base <= c->app_altstack.ss_size;
}

bool on_altstack(const ThreadContext* c, uint64_t sp) { return (c->app_altstack.ss_flags & kAutoDisarm) == 0 && within_altstack(c, sp); }

int altstack_state(const ThreadContext* c, uint64_t sp) {
  if (c->app_altstack.ss_size == 0) return SS_DISABLE;
  return on_altstack(c, sp) ? SS_ONSTACK : 0;
}

// The thread ends as the kernel would have ended it: default action with nothing in the way.
void default_action(ThreadContext* c, int number, const siginfo_t& info, uint64_t mask) {
  if (number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH) {
    set_signal_mask(mask);
    return;
  }
  const bool stops = number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
  if (!stops) have_others_publish(c);
  const bool has_core = ends_with_core(number);
  if (has_core && g_process.counting()) end_budget(c);
  if (has_core) block_signals(kFaultsToo);
  KernelAction native{};
  raw_syscall(SYS_rt_sigaction, static_cast<uint64_t>(number), word(&native), 0, 8);
  siginfo_t copy = info;
  const auto pid = static_cast<uint64_t>(raw_syscall(SYS_getpid)), tid = static_cast<uint64_t>(raw_syscall(SYS_gettid));
  if (raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, static_cast<uint64_t>(number), word(&copy)) != 0)
    raw_syscall(SYS_tgkill, pid, tid, static_cast<uint64_t>(number));
  if (has_core) end_with_core(c, number);
  set_signal_mask(mask & ~(1ull << (number - 1)));   // here it takes effect: death, or a stop that returns
  if (!stops) forget_published();
  if (is_fault_signal(number)) install_action(number, application_action(number));
  set_signal_mask(mask);
}

// Whether the processor reports the signal with the resume flag set: an instruction that faults, not one that traps
// (Intel SDM vol. 3, 18.3.1.1). What the kernel forces on a thread, as for a bad frame, has no trap number here.
bool is_of_fault(const PendingSignal& p) {
  constexpr uint64_t kDebugTrap = 1, kBreakpointTrap = 3, kOverflowTrap = 4;   // arch/x86/include/asm/trapnr.h
  if (!p.fault || !is_fault_signal(p.info.si_signo) || p.trapno == kNoTrap.number) return false;
  return p.trapno != kDebugTrap && p.trapno != kBreakpointTrap && p.trapno != kOverflowTrap;
}

// Where the frame goes, below the red zone or on the alternate stack if that is wanted (arch/x86/kernel/signal.c, get_sigframe). False: it
// would not fit there.
bool place_frame(const ThreadContext* c, const FrameLayout& layout, const KernelAction& action, uint64_t& fpstate, uint64_t& frame_address) {
  constexpr uint64_t kRedZone = 128;
  const uint64_t below = c->app.gpr[kRsp] - kRedZone;
  const bool enters = (action.flags & SA_ONSTACK) && altstack_state(c, below) == 0;
  const uint64_t top = enters ? word(static_cast<char*>(c->app_altstack.ss_sp)) + c->app_altstack.ss_size : below;
  fpstate = (top - frame_bytes(layout)) & ~63ull;
  frame_address = ((fpstate - sizeof(SignalFrame)) & ~15ull) - 8;
  return within_altstack(c, frame_address) || !(enters || on_altstack(c, c->app.gpr[kRsp]));
}

// False: no frame can be there. The kernel refuses a handler that has no way back (x64_setup_rt_frame).
bool build_frame(ThreadContext* c, const KernelAction& action, uint64_t& frame_address) {
  constexpr uint64_t kHasRestorer = 0x0400'0000;   // SA_RESTORER
  if (!(action.flags & kHasRestorer)) return false;
  uint64_t fpstate;
  const FrameLayout& layout = frame_layout(c);
  if (!place_frame(c, layout, action, fpstate, frame_address)) return false;
  alignas(64) uint8_t image[kLongestImage];
  write_vector_frame(c, layout, image);
  SignalFrame frame{};
  frame.restorer = action.restorer;
  fill_frame(c, frame.context, fpstate);
  frame.info = c->pending.info;
  const CodeAccess any_key;   // as kernels from 6.12 on (arch/x86/kernel/signal.c, handle_signal)
  return write_app(fpstate, image, frame_bytes(layout)) && write_app(frame_address, &frame, sizeof frame);
}

}  // namespace

void end_by_signal(ThreadContext* c, int number) {
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = SI_KERNEL;
  default_action(c, number, info, c->app_mask);
  fail("signal %d did not end the process", number);
}

bool end_by_own_call(ThreadContext* c, uint64_t call) {
  uint64_t* g = c->app.gpr;
  const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };   // as the kernel takes them
  const auto pid = static_cast<uint32_t>(raw_syscall(SYS_getpid)), tid = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  const bool to_itself = call == SYS_tgkill ? low(g[kRdi]) == pid && low(g[kRsi]) == tid : low(g[kRdi]) == tid && (call == SYS_tkill || tid == pid);
  const uint32_t number = low(call == SYS_tgkill ? g[kRdx] : g[kRsi]);
  if (!to_itself || c->call_allowed == 0 || number == 0 || number > 64) return false;
  siginfo_t info{};
  info.si_signo = static_cast<int>(number);
  if (application_action(info.si_signo).handler != kSigDefault || !ends_with_core(info.si_signo)) return false;
  info.si_code = call == SYS_kill ? SI_USER : SI_TKILL;
  info.si_pid = static_cast<pid_t>(pid);
  info.si_uid = static_cast<uid_t>(raw_syscall(SYS_getuid));
  const uint64_t mask = block_signals(kFaultsToo);
  if (c->pending.number.load(std::memory_order_relaxed) != 0 || (mask >> (number - 1) & 1) != 0) {   // another comes first; blocked
    set_signal_mask(mask);
    return false;
  }
  g[kRax] = 0, g[kRcx] = c->app.pc, g[kR11] = c->app.flags;   // as behind the call
  default_action(c, info.si_signo, info, mask);
  return true;
}

void note_trap(ThreadContext* c, const Trap& trap) {
  constexpr uint64_t kPageFault = 14;   // arch/x86/include/asm/trapnr.h
  if (trap.number == kNoTrap.number) return;
  c->last_trap = {trap.number, trap.error, trap.number == kPageFault ? trap.cr2 : c->last_trap.cr2};
}

void fill_frame(ThreadContext* c, KernelUcontext& u, uint64_t fpstate) {
  const uint64_t* g = c->app.gpr;
  u.flags = kUcFlags;
  u.stack = c->app_altstack;
  u.r8 = g[8], u.r9 = g[9], u.r10 = g[10], u.r11 = g[11], u.r12 = g[12], u.r13 = g[13], u.r14 = g[14], u.r15 = g[15];
  u.rdi = g[kRdi], u.rsi = g[kRsi], u.rbp = g[kRbp], u.rbx = g[kRbx], u.rdx = g[kRdx], u.rax = g[kRax], u.rcx = g[kRcx], u.rsp = g[kRsp];
  u.rip = c->app.pc;
  u.eflags = c->app.flags | (is_of_fault(c->pending) ? kResumeFlag : 0);
  u.cs = kUserCode;
  u.ss = kUserData;
  u.fpstate = fpstate;
  u.mask = c->app_mask;
  u.oldmask = c->app_mask;
  u.error = c->last_trap.error;
  u.trapno = c->last_trap.number;
  u.cr2 = c->last_trap.cr2;
}

namespace {

void set_pending(ThreadContext* c, const siginfo_t& info, const Trap& trap) {
  c->pending.info = info;
  c->pending.fault = info.si_code > 0;
  c->pending.trapno = trap.number;
  c->pending.error = trap.error;
  c->pending.cr2 = trap.cr2;
  note_trap(c, trap);
  c->pending.number.store(static_cast<uint32_t>(info.si_signo), std::memory_order_seq_cst);
}

// Where the thread has just faulted, calls may have brought it to the stack's end after the signal came, and there is no room for the signal's
// frame: then that fault comes first, which may have a stack of its own.
bool puts_fault_first(ThreadContext* c, int number) {
  PendingSignal& f = c->fault_behind;
  if (f.number.exchange(0, std::memory_order_relaxed) == 0 || c->pending.fault) return false;
  const KernelAction action = application_action(number);
  uint64_t frame;
  if (action.handler == kSigDefault || action.handler == kSigIgnore || build_frame(c, action, frame)) return false;
  raise_signal_first(c, f.info, {f.trapno, f.error, f.cr2});
  return true;
}

// A frame that cannot be written is a fault of its own, at the same place (kernel/signal.c, force_sigsegv).
void raise_for_frame(ThreadContext* c, int number) {
  if (number == SIGSEGV) end_by_signal(c, SIGSEGV);
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_KERNEL;
  set_pending(c, info, kNoTrap);
}

// Before the call in which the thread was attached is made again: it ends as the kernel would have had it end (arch/x86/kernel/signal.c,
// handle_signal).
void end_interrupted_call(ThreadContext* c, const KernelAction& action) {
  constexpr uint64_t kSystem = 512, kNoInterrupt = 513, kInstructionBytes = 2;   // ERESTARTSYS, ERESTARTNOINTR (include/linux/errno.h)
  const uint64_t error = std::exchange(c->interrupted, 0);
  if (error == 0 || error == kNoInterrupt || is_of_fault(c->pending)) return;
  if (error == kSystem && (action.flags & SA_RESTART)) return;
  c->call_to_restart = 0;
  c->app.pc += kInstructionBytes;
  c->app.gpr[kRax] = static_cast<uint64_t>(-EINTR);
  c->app.gpr[kRcx] = c->app.pc;
  c->app.gpr[kR11] = c->app.flags;
}

// The kernel goes on blocking what it blocked for it.
void end_pending(ThreadContext* c) {
  note_blocked();
  c->pending.number.store(0, std::memory_order_seq_cst);
  send_held();
}

}  // namespace

void deliver_signal(ThreadContext* c) {
  const int number = static_cast<int>(c->pending.number.load(std::memory_order_relaxed));
  if (puts_fault_first(c, number)) return deliver_signal(c);
  const KernelAction action = take_action(number);
  const siginfo_t info = c->pending.info;
  const bool fault = c->pending.fault;
  const bool blocked = (c->app_mask >> (number - 1) & 1) != 0;
  if (action.handler <= kSigIgnore) c->has_call_mask = 0;   // the call has ended, and its mask with it
  if (action.handler == kSigDefault || (fault && (blocked || action.handler == kSigIgnore))) {
    end_pending(c);
    return default_action(c, number, info, fault ? c->app_mask & ~(1ull << (number - 1)) : c->app_mask);
  }
  if (action.handler == kSigIgnore) {
    end_pending(c);
    set_signal_mask(c->app_mask);
    return;
  }
  end_interrupted_call(c, action);
  settle_own_fpu_pointer(c);
  uint64_t frame;
  if (!build_frame(c, action, frame)) {
    raise_for_frame(c, number);
    return deliver_signal(c);
  }
  append_event(c, border::Event::kSignal, {static_cast<uint64_t>(number), c->app.pc});
  if (keeps_log()) log_line("signal %d: handler %#lx, before %#lx", number, action.handler, c->app.pc);
  if (c->app_altstack.ss_flags & kAutoDisarm) c->app_altstack = stack_t{nullptr, SS_DISABLE, 0};
  c->app.gpr[kRdi] = static_cast<uint64_t>(number);
  c->app.gpr[kRsi] = frame + offsetof(SignalFrame, info);
  c->app.gpr[kRdx] = frame + offsetof(SignalFrame, context);
  c->app.gpr[kRax] = 0;
  c->app.gpr[kRsp] = frame;
  c->app.pc = action.handler;
  c->app.flags &= ~kClearedFlags;
  reset_vector_state(c);
  // The frame has the mask from before a sigsuspend-like call, the handler runs under the call's own (kernel/signal.c, sigmask_to_save).
  uint64_t mask = (c->has_call_mask ? c->call_mask : c->app_mask) | action.mask;
  c->has_call_mask = 0;
  if (!(action.flags & SA_NODEFER)) mask |= 1ull << (number - 1);
  end_pending(c);
  set_signal_mask(mask);   // from here on the next signal may come
}

namespace {

// False: not one that can be restored.
bool restore_vector_state(ThreadContext* c, uint64_t fpstate) {
  if (fpstate == 0) {
    reset_vector_state(c);
    return true;
  }
  alignas(64) uint8_t image[kLongestImage] = {};
  if (!read_app(image, fpstate, 512)) return false;
  std::optional<FrameImage> marked;
  if (!components_of_frame(image, fpstate, marked)) return false;
  if (marked && !read_app(image, fpstate, std::min(marked->bytes, frame_layout(c).bytes))) return false;
  if (fpstate % (marked ? 64 : 16) != 0) return false;   // XRSTOR's and FXRSTOR's alignment (Intel SDM vol. 2)
  return read_vector_frame(c, image, marked ? std::optional(marked->components) : std::nullopt);
}

// SIGSEGV, with what has been restored so far (arch/x86/kernel/signal.c, signal_fault).
bool refuse_frame(ThreadContext* c, uint64_t mask) {
  c->app.gpr[kRax] = 0;
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_KERNEL;
  set_signal_mask(mask);
  raise_signal_first(c, info, kNoTrap);
  return true;
}

// A segment of the local table that is there and holds code (Intel SDM vol. 2, LAR).
bool is_local_code(uint16_t selector) {
  constexpr uint32_t kPresent = 1 << 15, kNotSystem = 1 << 12, kExecutable = 1 << 11;
  if ((selector & kLocalTable) == 0) return false;
  uint32_t rights;
  bool valid;
  asm("lar %2, %0" : "=r"(rights), "=@ccz"(valid) : "r"(uint32_t{selector} | 3));
  return valid && (rights & (kPresent | kNotSystem | kExecutable)) == (kPresent | kNotSystem | kExecutable);
}

// The selector with which the processor refuses to return to user code: the general protection fault's error code; 0 for
// the null selector. (arch/x86/kernel/signal_64.c, restore_sigcontext)
std::optional<uint64_t> bad_selector(const KernelUcontext& u) {
  if ((u.cs | 3) != kUserCode) return u.cs & 0xfffc;
  if ((u.flags & kStrictSegment) && (u.ss | 3) != kUserData) return u.ss & 0xfffc;
  return std::nullopt;
}

// SIGSEGV where the frame says, by the instruction of the kernel that returns there (arch/x86/kernel/traps.c,
// fixup_bad_iret).
void refuse_selector(ThreadContext* c, uint64_t error) {
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_KERNEL;
  raise_signal_first(c, info, {13 /* X86_TRAP_GP */, error, 0});
  c->pending.trapno = kNoTrap.number;   // it is the kernel's return that faults: no resume flag
}

// kernel/signal.c, do_sigaltstack. The flags stay as they were given.
int64_t set_altstack(ThreadContext* c, const stack_t& s, uint64_t sp) {
  const int mode = s.ss_flags & ~kAutoDisarm;
  stack_t& now = c->app_altstack;
  if (on_altstack(c, sp)) return -EPERM;
  if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0) return -EINVAL;
  if (s.ss_sp == now.ss_sp && s.ss_size == now.ss_size && s.ss_flags == now.ss_flags) return 0;
  if (mode != SS_DISABLE && s.ss_size < 2048) return -ENOMEM;
  now = mode == SS_DISABLE ? stack_t{nullptr, s.ss_flags, 0} : s;
  return 0;
}

}  // namespace

// The frame lies where the handler's `ret` to the restorer left rsp.
bool do_sigreturn(ThreadContext* c) {
  KernelUcontext u;
  // A signal that came after the dispatcher last looked has the mask that the handler had: it must be delivered before the mask changes.
  const uint64_t mask = block_signals();
  if (c->pending.number.load(std::memory_order_relaxed) != 0) return false;
  if (!read_app(&u, c->app.gpr[kRsp], sizeof u)) return refuse_frame(c, mask);
  uint64_t* g = c->app.gpr;
  g[8] = u.r8, g[9] = u.r9, g[10] = u.r10, g[11] = u.r11, g[12] = u.r12, g[13] = u.r13, g[14] = u.r14, g[15] = u.r15;
  g[kRdi] = u.rdi, g[kRsi] = u.rsi, g[kRbp] = u.rbp, g[kRbx] = u.rbx, g[kRdx] = u.rdx, g[kRax] = u.rax, g[kRcx] = u.rcx, g[kRsp] = u.rsp;
  c->app.pc = u.rip;
  c->app.flags = (c->app.flags & ~kUserFlags) | (u.eflags & kUserFlags);
  if (!restore_vector_state(c, u.fpstate)) return refuse_frame(c, u.mask);
  if ((u.cs | 3) == kUserCode32 || is_local_code(u.cs))
    fail("a signal handler returns to code of segment %#x at %#lx; simrun runs 64-bit code of segment %#x only", u.cs, u.rip, kUserCode);
  set_altstack(c, u.stack, g[kRsp]);   // as in the kernel, what cannot be is ignored
  set_signal_mask(u.mask);
  if (const auto error = bad_selector(u)) refuse_selector(c, *error);
  return true;
}

int64_t do_sigaltstack(ThreadContext* c) {
  const uint64_t wanted = c->app.gpr[kRdi], old = c->app.gpr[kRsi], sp = c->app.gpr[kRsp];
  stack_t s{};
  if (wanted != 0 && !read_app(&s, wanted, sizeof s)) return -EFAULT;
  stack_t previous = c->app_altstack;
  previous.ss_flags = altstack_state(c, sp) | (c->app_altstack.ss_flags & kAutoDisarm);
  if (wanted != 0)
    if (const int64_t error = set_altstack(c, s, sp); error != 0) return error;
  if (old != 0 && !write_app(old, &previous, sizeof previous)) return -EFAULT;
  return 0;
}

bool raise_signal(ThreadContext* c, const siginfo_t& info, const Trap& trap) {
  const uint64_t mask = block_signals();
  if (c->pending.number.load(std::memory_order_relaxed) != 0) return false;
  c->app_mask = mask;
  set_pending(c, info, trap);
  return true;
}

void raise_signal_first(ThreadContext* c, const siginfo_t& info, const Trap& trap) {
  const uint64_t mask = set_signal_mask(~0ull);
  if (const uint64_t other = c->pending.number.load(std::memory_order_relaxed)) {
    siginfo_t copy = c->pending.info;
    raw_syscall(SYS_rt_tgsigqueueinfo, static_cast<uint64_t>(raw_syscall(SYS_getpid)), c->tid, other, word(&copy));
  } else {
    c->app_mask = mask;
  }
  set_pending(c, info, trap);
  set_signal_mask(mask | kAllSignals);
}

namespace {

// As for an access to user space.
void raise_page_fault(ThreadContext* c, uint64_t address, BadAccess access) {
  const bool write = access == BadAccess::kWrite;
  uint8_t resident = 0;
  const bool mapped = raw_syscall(SYS_mincore, address & ~4095ull, 1, word(&resident)) != -ENOMEM;
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = mapped ? SEGV_ACCERR : SEGV_MAPERR;
  info.si_addr = reinterpret_cast<void*>(address);
  // A page that may not be touched at all is to the processor not there, nor is one that never was touched.
  const uint64_t error = 4u | uint64_t{write} << 1 | (write && (resident & 1) != 0);
  raise_signal(c, info, {14 /* X86_TRAP_PF */, error, address});
}

// The kernel says of them all that something is mapped there (arch/x86/mm/fault.c, sanitize_error_code), of the last user page too.
bool is_kernel_address(uint64_t address) { return address >> 47 == 0x1ffff || address >> 12 == 0x7ffffffff; }

// Whether there is a page that only may not be executed, not one that may not be touched. One that never was comes first, as for a read
// (arch/x86/mm/fault.c, access_error).
bool page_is_there(uint64_t address) {
  uint8_t byte;
  return read_app(&byte, address, 1);
}

void raise(ThreadContext* c, int number, int code, uint64_t address) {
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = code;
  info.si_addr = reinterpret_cast<void*>(address);
  // X86_TRAP_PF with the instruction-fetch and user bits, X86_TRAP_UD (arch/x86/include/asm/trapnr.h, trap_pf.h).
  Trap trap{6, 0, 0};
  if (number == SIGBUS) trap = {14, 0x14, address};
  if (number == SIGSEGV) {
    const bool there = is_kernel_address(address) || (code == SEGV_ACCERR && page_is_there(address));
    trap = {14, there ? 0x15ull : 0x14ull, address};
  }
  raise_signal(c, info, trap);
}

}  // namespace

void raise_general_protection(ThreadContext* c, uint64_t error) {
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_KERNEL;
  raise_signal(c, info, {13, error, 0});   // X86_TRAP_GP
}

void raise_bad_access(ThreadContext* c, uint64_t address, BadAccess access, BySegment segment) {
  siginfo_t info{};
  const int64_t upper = static_cast<int64_t>(address) >> 47;
  if (upper != 0 && upper != -1) {   // not canonical
    if (segment != BySegment::kStack) return raise_general_protection(c, 0);
    info.si_signo = SIGBUS;
    info.si_code = SI_KERNEL;
    raise_signal(c, info, {12 /* X86_TRAP_SS */, 0, 0});
    return;
  }
  constexpr uint64_t kEndOfUserSpace = 0x7ffffffff000;   // TASK_SIZE_MAX
  if (address < kEndOfUserSpace) {
    raise_page_fault(c, address, access);
    return;
  }
  info.si_signo = SIGSEGV;
  info.si_code = SEGV_MAPERR;
  info.si_addr = reinterpret_cast<void*>(address);
  raise_signal(c, info, {14, access == BadAccess::kWrite ? 7ull : 5ull, address});   // all of it is said to be there (arch/x86/mm/fault.c, sanitize_error_code)
}

void raise_not_executable(ThreadContext* c) {
  const CodeAccess access;
  uint32_t executable, readable;
  bool mapped;   // the first byte that is not executable
  {
    const std::lock_guard lock(g_translation_lock);
    const AppAddress pc{c->app.pc};
    executable = executable_bytes(pc, 15);
    readable = readable_bytes(pc, executable);
    mapped = mapped_bytes_in(pc + executable, pc + executable + 1).all != 0;
  }
  // Does the instruction reach beyond what is executable, or is it none? Zeros behind it decide.
  uint8_t code[15] = {};
  Instruction instruction;
  const bool read = readable == 0 || read_app(code, c->app.pc, readable);
  const bool valid = read && decode(code, 15, AppAddress{c->app.pc}, instruction);
  if (valid && instruction.length <= readable) return;   // somebody has put it there meanwhile
  if (readable < executable) {
    // Beyond the end of the mapped file, or of memory that is a guard now, or not this process's.
    const uint64_t address = c->app.pc + readable;
    uint8_t byte;
    const bool is_missing = !direct_copy(&byte, reinterpret_cast<const void*>(address), 1) && last_copy_fault().code == SEGV_MAPERR &&
                            last_copy_fault().number == SIGSEGV;
    return is_missing ? raise(c, SIGSEGV, SEGV_MAPERR, address) : raise(c, SIGBUS, BUS_ADRERR, address);
  }
  if (executable == 15 && is_too_long(code, executable)) return raise_general_protection(c, 0);
  if (is_kernel_address(c->app.pc)) return raise(c, SIGSEGV, SEGV_MAPERR, c->app.pc);
  if (c->app.pc >> 47 != 0) return raise_general_protection(c, 0);   // by the transfer to there, natively
  const bool fetches_more = executable < 15 && read && is_cut_off(code, executable, has_feature(Feature::kAvx512F));
  if (executable == 15 || (executable > 0 && !fetches_more)) return raise(c, SIGILL, ILL_ILLOPN, c->app.pc);
  raise(c, SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, c->app.pc + executable);
}

void use_signal_stack(ThreadContext* c, void* base) {
  CHECK(word(static_cast<char*>(base)) % kSignalStackBytes == 0);
  std::memcpy(static_cast<char*>(base) + kSignalStackBytes - sizeof c, &c, sizeof c);
  const stack_t s{base, 0, kSignalStackBytes - 64};
  raw_syscall(SYS_sigaltstack, word(&s), 0);
}

}  // namespace simrun::engine
