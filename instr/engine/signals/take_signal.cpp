// From the kernel to the pending signal: the kernel-level handler. It never touches application memory and never delivers: it
// records, and arranges that the thread comes to the dispatcher.
#include <linux/perf_event.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>

#include "base/check.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/decode/instruction.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/dispatch/stable_code.h"
#include "instr/engine/dispatch/thread_events.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/log.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/actions.h"
#include "instr/engine/translate/code_access.h"
#include "instr/engine/translate/superblock.h"

namespace simrun::engine {
namespace {

// Of the superblock that the last fault cut, for publish_fault.
thread_local Recovery t_cut;
thread_local CopyFault t_copy_fault;

void set_register(KernelUcontext& u, uint8_t r, uint64_t value) {
  uint64_t* const by_number[16] = {&u.rax, &u.rcx, &u.rdx, &u.rbx, &u.rsp, &u.rbp, &u.rsi, &u.rdi,
                                   &u.r8,  &u.r9,  &u.r10, &u.r11, &u.r12, &u.r13, &u.r14, &u.r15};
  *by_number[r] = value;
}

uint64_t register_value(const KernelUcontext& u, uint8_t r) {
  const uint64_t by_number[16] = {u.rax, u.rcx, u.rdx, u.rbx, u.rsp, u.rbp, u.rsi, u.rdi, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14, u.r15};
  return by_number[r];
}

// Of a performance counter (perf_event_attr::sigtrap); its si_addr is the counter's.
bool is_counter_trap(int number, const siginfo_t& info) {
  constexpr int kTrapPerf = 6;   // include/uapi/asm-generic/siginfo.h: TRAP_PERF
  return number == SIGTRAP && info.si_code == kTrapPerf;
}

void describe(PendingSignal& p, const siginfo_t& info, const KernelUcontext& u, bool fault) {
  p.info = info;
  p.fault = fault;
  p.error = u.error;
  const bool by_processor = fault && info.si_signo != SIGSYS && !is_counter_trap(info.si_signo, info);
  p.trapno = by_processor ? u.trapno : kNoTrap.number;   // else that of the thread's last fault, which may be the engine's own
  p.cr2 = u.cr2;
}

// One signal at a time: the kernel blocks all others until this one is delivered (deliver_signal sets the mask).
void record(ThreadContext* c, int number, const siginfo_t* info, KernelUcontext* u, bool fault) {
  CHECK(c->pending.number.load() == 0);
  note_arrival(number, info->si_code, info->si_pid);
  describe(c->pending, *info, *u, fault);
  note_trap(c, {c->pending.trapno, c->pending.error, c->pending.cr2});
  c->app_mask = own_mask(u->mask);
  if (c->open_to_faults != 0) c->app_mask |= 1ull << (SIGSEGV - 1);
  u->mask |= kAllSignals;
  c->pending.number.store(static_cast<uint32_t>(number), std::memory_order_seq_cst);
  remember(c, kSignalEvents + static_cast<uint64_t>(number), u->rip);
  if (keeps_log()) log_line("signal %d, code %d, at %#lx, address %#lx, error %#lx", number, info->si_code, u->rip, u->cr2, u->error);
}

// Whole superblocks end in one byte for these: int3, int1.
void go_back_to_trap(Recovery& r) {
  r.pc = AppAddress{raw(r.pc) - 1};
  r.instructions = static_cast<uint16_t>(r.instructions - 1);
  r.whole = false;
}

// Then it is behind the instruction that did it; other counters stop wherever they overflow.
bool is_breakpoint(const siginfo_t& info) {
  constexpr size_t kTypeOffset = 32;   // include/uapi/asm-generic/siginfo.h: si_perf_type
  uint32_t type;
  std::memcpy(&type, reinterpret_cast<const char*>(&info) + kTypeOffset, sizeof type);
  return type == PERF_TYPE_BREAKPOINT;
}

// A counter's trap is of an instruction that is done and will not trap again. It goes before the signal that waits, which the kernel gets back
// and gives again when the trap's handler has its mask: the order in which the kernel delivers two that it has.
void record_before_pending(ThreadContext* c, int number, const siginfo_t* info, KernelUcontext* u) {
  send_again(static_cast<int>(c->pending.number.load()), c->pending.info);
  g_process.header->statistics.signals.fetch_sub(1, std::memory_order_relaxed);
  c->pending.number.store(0);
  u->mask = c->app_mask;
  record(c, number, info, u, true);
}

Recovery recovery_at(uint64_t code) {
  const std::lock_guard lock(g_translation_lock);
  return recover(code);
}

// The application's registers, from what a superblock has of them in other places.
void make_exact(ThreadContext* c, const Recovery& r, KernelUcontext* u) {
  if (r.pointer_register != kNoRegister && g_process.counting()) c->retired.store(register_value(*u, r.pointer_register));
  if (g_process.tracing()) {
    const uint64_t buffer = r.pointer_register != kNoRegister ? register_value(*u, r.pointer_register) : c->lent_pointer;
    c->buffer.store(buffer - 8u * r.moved, std::memory_order_relaxed);   // where this execution's words begin
  }
  for (uint8_t k = 0; k < 16; ++k)
    if (r.in_spill & bit(k)) set_register(*u, k, c->spill[k]);
}

// Out of the code cache, in the middle of a superblock: publish_fault says later what of it has happened.
void leave_amid(ThreadContext* c, const Recovery& r, KernelUcontext* u) {
  t_cut = r;
  c->cut_untold.store(1, std::memory_order_relaxed);   // in_cache is 1 still
  c->app.pc = raw(r.pc);
  c->exit_id = kExitFault;
  u->rip = g_routines.leave;
}

// A fault at an instruction of the application, in the code cache: make the registers exact and leave.
bool take_fault(ThreadContext* c, int number, siginfo_t* info, KernelUcontext* u) {
  Recovery r = recovery_at(u->rip);
  if (!r.found) return false;
  if (r.stale != 0) {   // code that cannot be read any more is code that has changed; its new translation ends where it cannot be read
    u->rip = r.stale;
    return true;
  }
  make_exact(c, r, u);
  constexpr uint32_t kPageFault = 14;
  if (number == SIGSEGV && u->trapno == kPageFault && is_write_to_stable_code(u->cr2, u->error)) {
    c->write_to_code = u->cr2;
    leave_amid(c, r, u);
    return true;
  }
  // si_addr is the instruction's own address for these (arch/x86/kernel/traps.c).
  if (number == SIGILL || number == SIGFPE || (number == SIGTRAP && info->si_code != SI_KERNEL && !is_counter_trap(number, *info)))
    info->si_addr = reinterpret_cast<void*>(raw(r.pc));
  // If a signal waits already, it goes first: the instruction faults again when its handler has returned. A trap (int3, int1) is behind its
  // instruction, and so goes back to it.
  if (c->pending.number.load() == 0) {
    record(c, number, info, u, true);
  } else if (is_counter_trap(number, *info)) {
    record_before_pending(c, number, info, u);
  } else if (r.whole) {
    go_back_to_trap(r);
  } else if (number == SIGSEGV) {
    describe(c->fault_behind, *info, *u, true);
    c->fault_behind.number.store(SIGSEGV, std::memory_order_relaxed);
  }
  leave_amid(c, r, u);
  return true;
}

// Whether the copy of an instruction that may touch memory stands at `code` (rip-relative ones are no copies).
bool is_copy_at(uint64_t code, AppAddress pc) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(raw(pc));
  Instruction i;
  return decode(bytes, readable_bytes(pc, 15), pc, i) && i.memory_operands != 0 &&
         std::memcmp(reinterpret_cast<const void*>(code), bytes, i.length) == 0;
}

// Where pages are brought by the program itself (userfaultfd) a thread may wait for one amid a superblock, and who would bring it may wait
// for this signal's handler, or for the end of a stop that waits for this thread (is_wake_up): so not to the next safe point, but out of the code cache at once, as at a fault.
bool leave_where_it_waits(ThreadContext* c, KernelUcontext* u) {
  // The routine that copies is called by who holds the translation lock, too.
  const bool in_routine = u->rip >= g_code_cache.execute_base() && u->rip < g_routines.end;
  if (!g_process.user_faults || !g_code_cache.contains(u->rip) || in_routine) return false;
  const Recovery r = recovery_at(u->rip);
  if (!r.found || r.stale != 0 || r.whole || !is_copy_at(u->rip, r.pc)) return false;
  make_exact(c, r, u);
  leave_amid(c, r, u);
  return true;
}

// The end of a child may be any signal (clone's exit signal), with codes of SIGCHLD and its process where a fault has an address.
bool is_end_of_child(int number, const siginfo_t& info, const KernelUcontext& u) {
  constexpr uint32_t kPageFault = 14, kAlignmentCheck = 17;   // arch/x86/include/asm/trapnr.h
  if (info.si_code < CLD_EXITED || info.si_code > CLD_CONTINUED) return false;
  const uint64_t address = word(static_cast<char*>(info.si_addr));
  if (number == SIGSEGV) return u.trapno != kPageFault || address != u.cr2;
  if (number == SIGBUS)
    return !(u.trapno == kPageFault && address == u.cr2) && u.trapno != kAlignmentCheck && info.si_code != BUS_MCEERR_AR && info.si_code != BUS_MCEERR_AO;
  return address != u.rip && !is_counter_trap(number, info);
}

// Not by a fault, whatever its code says: a siginfo that the program handed on to itself, the SIGILL of a call that punishes its caller, the
// end of a child. The former come when a call of the program returns, or when the mask changes.
bool was_sent(int number, const siginfo_t* info, const KernelUcontext* u) {
  constexpr uint64_t kSyscallBytes = 2, kInt80Bytes = 2;
  if (is_counter_trap(number, *info) && (!is_breakpoint(*info) || !g_code_cache.contains(u->rip))) return true;   // anywhere; the engine was counted
  return info->si_code <= 0 || is_end_of_child(number, *info, *u) || u->rip == g_routines.gate_instruction + kSyscallBytes || u->rip == g_routines.gate32_instruction + kInt80Bytes ||
         is_behind_mask_change(u->rip);
}

// A segment in SS that another thread has taken out of the local table since it was loaded: the kernel cannot return to user code, wherever
// that is, so the fault comes between two instructions as other signals do.
bool has_lost_stack_segment(int number, const siginfo_t& info, const KernelUcontext& u) {
  constexpr uint32_t kPresent = 1 << 15, kWritable = 1 << 9;
  if (number != SIGSEGV || info.si_code != SI_KERNEL || (u.ss & kLocalTable) == 0) return false;
  uint32_t rights;
  bool valid;
  asm("lar %2, %0" : "=r"(rights), "=@ccz"(valid) : "r"(uint32_t{u.ss}));
  return !valid || (rights & kPresent) == 0 || (rights & kWritable) == 0;
}

// The kernel was about to go on with a call that has a time, which nothing but a stop or a signal for another thread had interrupted: a handler ends
// it (arch/x86/kernel/signal_64.c, restore_sigcontext: do_no_restart_syscall). The call that the program made would begin with all its time again.
bool ends_restart(KernelUcontext* u) {
  constexpr uint64_t kRestart32 = 0, kBytes = 2;   // of a call by int 0x80; of both instructions
  const bool restarts = u->rip == g_routines.gate_instruction && u->rax == SYS_restart_syscall;
  const bool restarts32 = u->rip == g_routines.gate32_instruction && u->rax == kRestart32;
  if (!restarts && !restarts32) return false;
  u->rip += kBytes;
  u->rax = static_cast<uint64_t>(-EINTR);
  return true;
}

[[noreturn]] void engine_fault(int number, const siginfo_t* info, const KernelUcontext* u) {
  const bool in_cache = g_code_cache.contains(u->rip);
  fail_inside("signal %d, code %d, at %#lx (%s%#lx), address %p, stack pointer %#lx", number, info->si_code, u->rip,
              in_cache ? "code cache +" : "outside the code cache at ", in_cache ? g_code_cache.offset_of(u->rip) : g_code_cache.execute_base(),
              info->si_addr, u->rsp);
}

}  // namespace

void note_arrival(int number, int code, pid_t sender) {
  const bool sent = code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
  const bool hung_up = number == SIGHUP && code == SI_KERNEL;
  if ((!sent && !hung_up) || number < 1 || number >= static_cast<int>(border::kSignalArrivals)) return;
  timespec now{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, word(&now));
  border::SignalArrivals& arrivals = g_process.header->arrivals[number];
  border::SignalArrivals::One& arrival = arrivals.last[arrivals.all.fetch_add(1, std::memory_order_relaxed) % border::SignalArrivals::kKept];
  arrival.sender.store(sent ? sender : 0, std::memory_order_relaxed);
  arrival.time.store(now.tv_sec * 1'000'000'000 + now.tv_nsec, std::memory_order_release);
}

uint64_t handle_signal(int number, siginfo_t* info, KernelUcontext* u) {
  const CodeAccess access;   // a read that fails here would be the end: its signal is blocked
  ThreadContext* c = current_context();
  restore_code(info->si_code);
  if (is_wake_up(number, *info)) return leave_where_it_waits(c, u);
  const bool lost_stack_segment = has_lost_stack_segment(number, *info, *u);
  if (lost_stack_segment) u->ss = kUserData;
  if (is_fault_signal(number) && !was_sent(number, info, u) && !lost_stack_segment) {
    if (u->rip == g_routines.copy_instruction) {
      t_copy_fault = {number, info->si_code};
      u->rip = g_routines.copy_failed;
      return 1;
    }
    if (u->rip == g_routines.gate32_instruction) {
      u->rip = g_routines.gate32_failed;
      return 1;
    }
    // The mapping is sparse: its pages come when they are touched, and there may be none left (mm/shmem.c, shmem_fault).
    if (number == SIGBUS && word(static_cast<char*>(info->si_addr)) - word(g_process.base) < g_process.header->mapping_bytes)
      fail("no memory left for the memory that simrun shares with the program; free some, or try a smaller --ring-size");
    g_process.header->statistics.faults.fetch_add(1, std::memory_order_relaxed);
    if (g_code_cache.contains(u->rip) && take_fault(c, number, info, u)) return 1;
    engine_fault(number, info, u);
  }
  if (is_fault_signal(number) && hold_back(number, *info)) return 0;
  if (number == SIGSEGV && c->open_to_faults != 0 && !lost_stack_segment) {
    c->took_blocked = 1;
    hold(number, *info);
    request_stop(c);
    return 0;
  }
  // Only a fault's signal that somebody sent gets here: they are never blocked by the engine. Later, then.
  if (c->pending.number.load() != 0) {
    hold(number, *info);
    return 0;
  }
  if (is_fault_signal(number) && defer(number, u->rip, u->mask)) {
    send_again(number, *info);
    return 0;
  }
  g_process.header->statistics.signals.fetch_add(1, std::memory_order_relaxed);
  record(c, number, info, u, lost_stack_segment || (number == SIGSYS && info->si_code > 0));
  // A seccomp filter's signal: where the call was made (SYS_SECCOMP).
  if (number == SIGSYS && info->si_code == 1) c->pending.info.si_call_addr = reinterpret_cast<void*>(c->app.pc);
  request_stop(c);
  if (ends_restart(u)) return leave_where_it_waits(c, u);
  // In the gate and not yet in the kernel (or about to restart the call): the signal comes first.
  if (u->rip >= g_routines.gate32_begin && u->rip <= g_routines.gate32_instruction) u->rip = g_routines.gate32_abort;
  if (u->rip >= g_routines.gate_begin && u->rip <= g_routines.gate_instruction) u->rip = g_routines.gate_abort;
  return leave_where_it_waits(c, u);
}

CopyFault last_copy_fault() { return t_copy_fault; }

namespace {

// Iterations that the string instruction at the cut has done, negative downwards.
int64_t iterations_begun(const ThreadContext* c, const Recovery& r, const uint64_t* stored) {
  if (r.begun_word == border::kNoWord) return 0;
  auto moved = static_cast<int64_t>(c->app.gpr[r.begun_register] - stored[r.begun_word - 1]);
  if (r.begun_narrow) moved = static_cast<int32_t>(moved);
  return moved / r.begun_bytes;
}

void tell_cut(ThreadContext* c, const Recovery& r) {
  // The thread's mode: that of the process may have changed since the fault.
  c->string_bytes -= c->app.gpr[kRcx] * r.string_element;
  if (c->mode == border::Mode::kCount) return count_cut(c, r.last_path, r.instructions, r.counted, r.blocks);
  if (c->mode != border::Mode::kTrace) return;
  auto* const stored = reinterpret_cast<uint64_t*>(c->buffer.load(std::memory_order_relaxed)) + 1;
  for (const uint16_t word : r.late_words)
    if (word != border::kNoWord) stored[word - 1] = c->app.gpr[r.late_register];
  if (r.whole) return append_path(c, r.last_path, r.words);
  uint64_t payload[border::kMaxSuperblockWords + 3] = {r.last_path, r.instructions, static_cast<uint64_t>(iterations_begun(c, r, stored))};
  for (uint32_t k = 0; k < r.words; ++k) payload[3 + k] = stored[k];
  append_words(c, border::Event::kCut, payload, 3u + r.words);
}

}  // namespace

void publish_fault(ThreadContext* c) {
  tell_cut(c, t_cut);
  c->cut_untold.store(0, std::memory_order_release);
}

}  // namespace simrun::engine
