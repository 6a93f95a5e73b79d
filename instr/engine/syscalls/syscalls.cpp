#include "instr/engine/syscalls/syscalls.h"

#include <asm/prctl.h>
#include <linux/audit.h>
#include <linux/io_uring.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/flush.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/dispatch/stable_code.h"
#include "instr/engine/dispatch/thread_events.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/log.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/syscalls/call_events.h"
#include "instr/engine/syscalls/early_ends.h"
#include "instr/engine/syscalls/exec.h"
#include "instr/engine/syscalls/halt_sharer.h"
#include "instr/engine/syscalls/mapping_calls.h"
#include "instr/engine/syscalls/open_views.h"
#include "instr/engine/syscalls/process_files.h"
#include "instr/engine/syscalls/resource_limits.h"
#include "instr/engine/syscalls/seccomp.h"
#include "instr/engine/syscalls/signal_to_parent.h"
#include "instr/engine/syscalls/taken_signals.h"
#include "instr/engine/syscalls/traced_registers.h"
#include "instr/engine/syscalls/user_dispatch.h"
#include "instr/engine/syscalls/watch_mappings.h"
#include "instr/engine/threads/follow.h"
#include "instr/engine/threads/threads.h"
#include "instr/engine/translate/superblock.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kSyscallInstructionBytes = 2;
// Shadow stacks (Linux 6.6, arch/x86/include/uapi/asm/prctl.h): translated calls and returns use none, so there are none, as in a kernel without.
constexpr uint64_t kFirstShadowStackOperation = 0x5001, kLastShadowStackOperation = 0x5005;   // ARCH_SHSTK_ENABLE to ARCH_SHSTK_STATUS
constexpr uint64_t kMapShadowStack = 453;

void set_result(ThreadContext* c, int64_t result) { c->app.gpr[kRax] = static_cast<uint64_t>(result); }

// Setting a base makes the selector 0 (arch/x86/kernel/process_64.c, do_arch_prctl_64), and on some processors that changes the base. Without
// instructions for the bases both selectors are 0.
void clear_fs_selector() {
  if (g_process.header->base_instructions == 0) return;
  uint64_t base;
  asm volatile("rdfsbase %0\n mov %k1, %%fs\n wrfsbase %0" : "=&r"(base) : "r"(0));
}
void clear_gs_selector() {
  if (g_process.header->base_instructions == 0) return;
  uint64_t base;
  asm volatile("rdgsbase %0\n mov %k1, %%gs\n wrgsbase %0" : "=&r"(base) : "r"(0));
}

int64_t do_arch_prctl(ThreadContext* c) {
  constexpr uint64_t kEndOfUserSpace = 0x7ffffffff000;   // TASK_SIZE_MAX
  const uint64_t operation = c->app.gpr[kRdi] & 0xffffffff, value = c->app.gpr[kRsi];
  if (operation >= kFirstShadowStackOperation && operation <= kLastShadowStackOperation) return -EINVAL;
  switch (operation) {
    case ARCH_SET_FS:
      if (value >= kEndOfUserSpace) return -EPERM;
      clear_fs_selector();
      c->app_fs_base = value;
      append_event(c, border::Event::kFsBase, {value});
      return 0;
    case ARCH_GET_FS: return write_app(value, &c->app_fs_base, 8) ? 0 : -EFAULT;
    case ARCH_SET_GS:
      if (value >= kEndOfUserSpace) return -EPERM;
      clear_gs_selector();
      c->app_gs_base = value;
      append_event(c, border::Event::kGsBase, {value});
      return 0;
    case ARCH_GET_GS: return write_app(value, &c->app_gs_base, 8) ? 0 : -EFAULT;
    default: return raw_syscall(SYS_arch_prctl, operation, value);
  }
}

// The mask that a call sets for its own time; false when it sets none.
bool mask_of_call(const ThreadContext* c, uint64_t number, uint64_t& mask) {
  const uint64_t* g = c->app.gpr;
  uint64_t at = 0;
  // An argument points to the address of the mask.
  const auto at_of = [&](uint64_t pointer) { return pointer != 0 && read_app(&at, pointer, sizeof at); };
  switch (number) {
    case SYS_rt_sigsuspend: at = g[kRdi]; break;
    case SYS_ppoll: at = g[kR10]; break;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: at = g[kR8]; break;
    case SYS_pselect6:
    case SYS_io_pgetevents:
      if (!at_of(g[kR9])) return false;
      break;
    case SYS_io_uring_enter: {
      constexpr uint64_t kRegisteredArgument = 1 << 6;   // IORING_ENTER_EXT_ARG_REG: an index into memory that the kernel knows
      if ((g[kR10] & kRegisteredArgument) != 0) return false;
      if ((g[kR10] & IORING_ENTER_EXT_ARG) == 0)
        at = g[kR8];
      else if (!at_of(g[kR8]))   // io_uring_getevents_arg::sigmask is its first member
        return false;
      break;
    }
    default: return false;
  }
  return at != 0 && read_app(&mask, at, sizeof mask);
}

void report_change(ThreadContext* c, uint64_t number, const uint64_t* arguments) {
  if (g_process.header->watch_calls != 0 && c->app.gpr[kRax] <= static_cast<uint64_t>(-4096)) report_mapping_change(c, number, arguments);
}

void note_user_faults(const ThreadContext* c, uint64_t number, const uint64_t* a) {
  constexpr uint64_t kNewDescriptor = 0xaa00;   // USERFAULTFD_IOC_NEW, of /dev/userfaultfd
  const bool asks = number == SYS_userfaultfd || (number == SYS_ioctl && a[1] == kNewDescriptor);
  if (asks && static_cast<int64_t>(c->app.gpr[kRax]) >= 0) g_process.user_faults = true;
}

// A fork would wait, with all locks of the engine, until somebody has read of it. So events of forks are refused as for who may not trace
// (fs/userfaultfd.c, userfaultfd_api).
bool refuse_fork_events(uint64_t number, const uint64_t* a, int64_t& result) {
  uffdio_api api;
  if (number != SYS_ioctl || !g_process.user_faults || (a[1] & 0xffffffff) != UFFDIO_API || !read_app(&api, a[2], sizeof api)) return false;
  if (api.api != UFFD_API || !(api.features & UFFD_FEATURE_EVENT_FORK)) return false;
  api = {};
  result = write_app(a[2], &api, sizeof api) ? -EPERM : -EFAULT;
  return true;
}

}  // namespace

bool watched_call(ThreadContext* c, uint64_t number) {
  const uint64_t arguments[] = {c->app.gpr[kRdi], c->app.gpr[kRsi], c->app.gpr[kRdx], c->app.gpr[kR10], c->app.gpr[kR8], c->app.gpr[kR9]};
  int64_t result;
  if (answer_mapping_call(c, number, result) || answer_limit_call(c, number, result) || answer_halting_call(c, number, result) ||
      answer_signal_to_parent(c, number, result) || answer_view_call(number, arguments, result) ||
      refuse_fork_events(number, arguments, result)) {
    set_result(c, result);
    report_change(c, number, arguments);
    return true;
  }
  before_read_call(c, number);
  await_report_of_end(c, number, arguments);
  uint64_t mask = 0;
  const bool masked = mask_of_call(c, number, mask);
  before_mapping_call(number, arguments);
  if (!pass_through(c)) return undo_before_mapping_call(number, arguments), false;
  if (masked && c->app.gpr[kRax] == static_cast<uint64_t>(-EINTR) && c->pending.number.load(std::memory_order_relaxed) != 0) {
    c->call_mask = mask;
    c->has_call_mask = 1;
  }
  after_read_call(c, arguments);
  after_mapping_call(c, number, arguments);
  note_user_faults(c, number, arguments);
  note_taken_signals(c, number, arguments);
  after_view_call(c, number, arguments);
  after_open_call(c, number, arguments);
  after_write_call(c, number, arguments);
  if (number == SYS_ptrace) after_trace_call(c, arguments);
  report_change(c, number, arguments);
  return true;
}

namespace {

// kernel/sys.c, PR_SET_TSC: arch/x86/kernel/process.c, set_tsc_mode. The engine reads the time stamp itself, so the kernel does not hear of
// it. After an exec it is as at the start.
int64_t set_tsc_mode(ThreadContext* c, uint64_t mode) {
  if (mode != PR_TSC_ENABLE && mode != PR_TSC_SIGSEGV) return -EINVAL;
  c->tsc_refused = mode == PR_TSC_SIGSEGV;
  if (c->tsc_refused != 0 && !g_traps_tsc) {
    stop_world(c);
    {
      const std::lock_guard lock(g_translation_lock);
      g_traps_tsc = true;
      drop_translations();
    }
    resume_world();
  }
  return 0;
}

int64_t get_tsc_mode(const ThreadContext* c, uint64_t at) {
  const int mode = c->tsc_refused != 0 ? PR_TSC_SIGSEGV : PR_TSC_ENABLE;
  return write_app(at, &mode, sizeof mode) ? 0 : -EFAULT;
}

bool do_prctl(ThreadContext* c, uint64_t number) {
  int64_t result;
  bool signalled;
  const uint64_t operation = number == SYS_prctl ? c->app.gpr[kRdi] & 0xffffffff : 0;
  if (operation == PR_SET_TSC) return set_result(c, set_tsc_mode(c, c->app.gpr[kRsi])), true;
  if (operation == PR_GET_TSC) return set_result(c, get_tsc_mode(c, c->app.gpr[kRsi])), true;
  if (operation == PR_SET_SYSCALL_USER_DISPATCH) {
    set_result(c, set_user_dispatch(c));
    return true;
  }
  if (!answer_seccomp_call(c, number, result, signalled)) return watched_call(c, number);
  if (!signalled) set_result(c, result);
  return !signalled;
}

// A tracer must find a process as it is natively, so one that is in the engine leaves before it is traced, unless it shares the tracer's
// memory: then it stays (docs/processes.md).
bool do_ptrace(ThreadContext* c) {
  const uint64_t request = c->app.gpr[kRdi];
  if (request == PTRACE_TRACEME) {
    // Granted: before the next instruction, which makes this call.
    if (ask_simulator(border::FollowKind::kTraced, static_cast<uint64_t>(raw_syscall(SYS_getpid)))) return false;
  } else if (request == PTRACE_ATTACH || request == PTRACE_SEIZE) {
    const uint64_t whom = c->app.gpr[kRsi];
    if (sharer(c, whom) == nullptr) ask_simulator(border::FollowKind::kTraced, whom, token_of_child(whom));
  }
  return watched_call(c, SYS_ptrace);
}

// Restartable sequences cannot be kept in a code cache: the C library falls back. But one that was registered when simrun attached has promised
// its next threads that they will be, too, which do so before anything else and end the program when they cannot (glibc 2.35, nptl/pthread_create.c:
// start_thread). These are told that they are; their `cpu_id` stays RSEQ_CPU_ID_UNINITIALIZED, by which all fall back and promise nothing any more.
int64_t register_rseq(const ThreadContext* c) {
  const uint64_t flags = c->app.gpr[kRdx];
  return g_process.header->attached_threads != 0 && c->has_called == 0 && flags == 0 ? 0 : -ENOSYS;
}

// Does the call, or has the kernel do it. False: a signal came first, nothing happened.
bool perform(ThreadContext* c, uint64_t number) {
  switch (number) {
    case SYS_rt_sigaction: set_result(c, do_sigaction(c)); return true;
    case SYS_sigaltstack: set_result(c, do_sigaltstack(c)); return true;
    case SYS_arch_prctl: set_result(c, do_arch_prctl(c)); return true;
    case SYS_rseq: set_result(c, register_rseq(c)); return true;
    case kMapShadowStack: set_result(c, -ENOSYS); return true;
    case SYS_clone: return do_clone(c);
    case SYS_clone3: return do_clone3(c);
    case SYS_fork: return do_fork(c, 0);
    case SYS_vfork: return do_fork(c, CLONE_VFORK | CLONE_VM);
    case SYS_execve:
    case SYS_execveat: return do_exec(c);
    case SYS_prctl:
    case SYS_seccomp: return do_prctl(c, number);
    case SYS_ptrace: return do_ptrace(c);
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill: return end_by_own_call(c, number) || watched_call(c, number);
    default: return watched_call(c, number);
  }
}

}  // namespace

void prepare_end_of_process(ThreadContext* c) {
  have_others_publish(c);
  if (g_process.counting()) end_budget(c);
}

bool survives_end_of_process(ThreadContext* c, bool done) {
  forget_published();
  if (done) c->waited_in_vain = 0;
  return done;
}

bool pass_through(ThreadContext* c) { return g_routines.gate(c) != 0; }

namespace {

// Calls that do not come back behind their instruction; true for these.
bool leave_engine(ThreadContext* c, uint64_t number) {
  if (number == SYS_exit || (number == SYS_exit_group && borrows_memory())) {
    end_thread(c, number);
    c->app.pc -= kSyscallInstructionBytes;   // a signal comes first
    return true;
  }
  if (number == SYS_rt_sigreturn) {
    if (!do_sigreturn(c)) c->app.pc -= kSyscallInstructionBytes;
    return true;
  }
  return false;
}

}  // namespace

void do_syscall(ThreadContext* c) {
  uint64_t* g = c->app.gpr;
  const uint64_t number = static_cast<uint32_t>(g[kRax]);   // as the kernel takes it (arch/x86/entry/entry_64.S)
  remember(c, kCallEvents + number, g[kRdi]);
  if (keeps_log()) log_line("system call %lu(%#lx, %#lx, %#lx) from %#lx", number, g[kRdi], g[kRsi], g[kRdx], c->app.pc);
  // The signal comes first, before any call that could unblock another one.
  if (c->pending.number.load(std::memory_order_relaxed) != 0) {
    c->app.pc -= kSyscallInstructionBytes;
    return;
  }
  const CallInProgress in_progress(c, number);
  if (c->user_dispatch.on != 0 && dispatch_to_user(c, number, AUDIT_ARCH_X86_64)) return;
  const Verdict verdict = judge_call(c, number);
  if (verdict == Verdict::kKilled) kill_thread(c);
  c->call_allowed = verdict == Verdict::kAllowed;
  const bool is_ours = verdict == Verdict::kAllowed || verdict == Verdict::kAsked;
  if (is_ours && leave_engine(c, number)) return;
  if (number == SYS_exit_group) prepare_end_of_process(c);
  const Blocking blocking = may_block(c, number);
  const bool blocks = blocking == Blocking::kLong;
  if (blocks) report_before_waiting(c);
  HandOverCall hand_over = hand_over_call(c, number);
  append_call_enter(c, number, blocks, hand_over);
  if (blocking != Blocking::kNo) set_thread_state(c, blocks ? border::ThreadState::kInKernel : border::ThreadState::kInShortCall);
  const bool done = is_ours ? perform(c, number) : pass_through(c);
  if (number != SYS_futex) c->has_called = 1;
  if (number == SYS_exit_group) survives_end_of_process(c, done);
  if (blocking != Blocking::kNo) set_thread_state(c, border::ThreadState::kRunning);
  append_call_exit(c, number, done, hand_over);
  if (keeps_log()) log_line(done ? "system call %lu = %#lx" : "system call %lu: a signal comes first (%#lx)", number, g[kRax]);
  const uint64_t restarted = std::exchange(c->call_to_restart, 0);
  if (!done) {
    // What restart_syscall goes on with is forgotten at the next rt_sigreturn: a handler's, or that of leaving the engine.
    if (number == SYS_restart_syscall && restarted != 0) g[kRax] = restarted;
    // As if the call had begun.
    g[kRcx] = c->app.pc;
    g[kR11] = c->app.flags;
    c->app.pc -= kSyscallInstructionBytes;
    return;
  }
  c->interrupted = 0;
  // What the instruction itself does to registers (Intel SDM vol. 2, SYSCALL; SYSRET).
  g[kRcx] = c->app.pc;
  g[kR11] = c->app.flags;
}

}  // namespace simrun::engine
