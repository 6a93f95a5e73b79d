#include "instr/engine/runtime/dispatcher.h"

#include <sys/syscall.h>

#include <cstddef>
#include <utility>

#include "base/check.h"
#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/descriptor_tables.h"
#include "instr/engine/dispatch/flush.h"
#include "instr/engine/dispatch/fpu_pointers.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/dispatch/stable_code.h"
#include "instr/engine/dispatch/thread_events.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/runtime/mode_switch.h"
#include "instr/engine/runtime/single_step.h"
#include "instr/engine/runtime/uncopied_instructions.h"
#include "instr/engine/signals/actions.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/syscalls/syscalls.h"
#include "instr/engine/threads/leave.h"
#include "instr/engine/translate/address_space.h"

namespace simrun::engine {
namespace {

// What the exit said, read before a flush could take it away.
struct Departure {
  uint32_t id;
  uint64_t generation;
  Exit exit;          // when id >= kFirstExit
};

Departure read_departure(ThreadContext* c) {
  Departure d{c->exit_id, 0, {}};
  if (d.id < kFirstExit) return d;
  const std::lock_guard lock(g_translation_lock);
  d.generation = code_generation();
  d.exit = exit_facts(d.id);
  return d;
}

// Does what the departure asks for; afterwards app.pc is where the thread goes on.
void handle_departure(ThreadContext* c, const Departure& d) {
  auto& statistics = g_process.header->statistics;
  const auto count = [](std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); };
  remember(c, d.id < kFirstExit ? d.id : kExitEvents + static_cast<uint64_t>(d.exit.kind), c->app.pc);
  if (d.id == kExitIndirect) return count(statistics.dispatches_indirect);
  if (d.id == kExitFault) {
    if (c->mode != border::Mode::kCount) publish_fault(c);
    if (const uint64_t at = std::exchange(c->write_to_code, 0)) give_back(c, at, at + 1);
    return;
  }
  if (d.id < kFirstExit) return count(statistics.dispatches_other);
  c->app.pc = raw(d.exit.target);
  switch (d.exit.kind) {
    case ExitKind::kDirect: return count(statistics.dispatches_link);
    case ExitKind::kCheck:
      count(statistics.dispatches_check);
      return switch_chunk_if_full(c);
    case ExitKind::kSyscall:
      c->mask_is_looked_at = 0;
      count(statistics.dispatches_syscall);
      return do_syscall(c);
    case ExitKind::kStale:
      count(statistics.dispatches_other);
      return flush_range(c, AppAddress{c->app.pc}, AppAddress{c->app.pc + 1});
    case ExitKind::kCompared:
      count(statistics.dispatches_other);
      return protect_stable_code(c);
    case ExitKind::kSyscall32:
      c->mask_is_looked_at = 0;
      count(statistics.dispatches_syscall);
      return do_syscall32(c);
    case ExitKind::kFsBase:
      count(statistics.dispatches_other);
      return append_event(c, border::Event::kFsBase, {c->app_fs_base});
    case ExitKind::kGsBase:
      count(statistics.dispatches_other);
      return append_event(c, border::Event::kGsBase, {c->app_gs_base});
    case ExitKind::kPopFlags:
      count(statistics.dispatches_other);
      c->goes_alone = 1;
      return;
    case ExitKind::kFpuPointer:
      count(statistics.dispatches_other);
      settle_own_fpu_pointer(c);
      c->goes_alone = 1;
      return;
    case ExitKind::kUnsupported: {
      const bool traps = is_stepping(c);   // not by a flag that the instruction itself sets
      if (do_uncopied_instruction(c) && traps) raise_step_trap(c);
      return;
    }
  }
}

// Whether the thread has left behind an instruction that it went in for.
bool has_retired(const Departure& d) {
  if (d.id < kFirstExit) return d.id == kExitIndirect;
  return d.exit.kind == ExitKind::kDirect || d.exit.kind == ExitKind::kFsBase || d.exit.kind == ExitKind::kGsBase;
}

// Forced safe points: the limit of every n-th entry is 0.
bool force_check(ThreadContext* c) {
  const uint32_t every = g_process.header->force_safe_points;
  if (every == 0) return false;
  c->check_countdown = c->check_countdown * 1103515245u + 12345u;
  return (c->check_countdown >> 16) % every == 0;
}

// Code may be memory that another thread of the application brings when it is first touched (userfaultfd): the wait for it must not be
// under the lock.
void wait_for_memory(ThreadContext* c) {
  if (!g_process.user_faults) return;
  constexpr uint64_t kReach = 15 * kMaxSuperblockInstructions;
  uint8_t byte;
  set_thread_state(c, border::ThreadState::kWaitingInEngine);
  read_app(&byte, c->app.pc, 1);
  read_app(&byte, c->app.pc + kReach, 1);
  set_thread_state(c, border::ThreadState::kRunning);
}

bool look_again(uint64_t pc) {
  const std::lock_guard lock(g_translation_lock);
  return is_executable_after_all(AppAddress{pc});
}

// The code to go on with; 0: nothing executable, or the code cache or its descriptions are full (`generation` to flush).
uint64_t find_code(ThreadContext* c, const Departure& d, bool uses_reserve, uint64_t& full) {
  const std::lock_guard lock(g_translation_lock);
  full = 0;
  if (code_cache_is_full(uses_reserve) || (!uses_reserve && descriptor_tables_want_renewal())) {
    full = code_generation();
    return 0;
  }
  if (is_stepping(c)) {
    const uint64_t code = step_code_for(AppAddress{c->app.pc});
    if (code != 0) begin_step(c);
    return code;
  }
  if (std::exchange(c->goes_alone, 0) != 0) return alone_code_for(AppAddress{c->app.pc});
  if (const uint32_t left = g_process.counting() ? cut_length(c) : 0) return short_code_for(AppAddress{c->app.pc}, d.id == kExitIndirect, left);
  const uint64_t code = code_for(AppAddress{c->app.pc}, d.id == kExitIndirect);
  if (code == 0) return 0;
  if (d.id >= kFirstExit && d.exit.kind == ExitKind::kDirect && c->app.pc == raw(d.exit.target)) link_exit(d.id, d.generation);
  return code;
}

// Of the instruction that comes next: of a handler that is about to run; where a handler returns to is in its frame.
uint64_t next_pc(const ThreadContext* c, const Departure& d) {
  if (const uint32_t signal = c->pending.number.load(std::memory_order_relaxed); signal != 0)
    if (const uint64_t handler = application_action(static_cast<int>(signal)).handler; handler > kSigIgnore) return handler;
  if (d.id < kFirstExit) return c->app.pc;
  uint64_t pc;
  const bool returns = d.exit.kind == ExitKind::kSyscall && static_cast<uint32_t>(c->app.gpr[kRax]) == SYS_rt_sigreturn;
  return returns && read_app(&pc, c->app.gpr[kRsp] + offsetof(KernelUcontext, rip), sizeof pc) ? pc : raw(d.exit.target);
}

}  // namespace

uint64_t dispatch(ThreadContext* c) {
  close_to_faults(c);
  Departure d = read_departure(c);
  leave_cache_state(c);
  // Before anybody asks how many have retired: the thread has counted ahead of the fault.
  if (d.id == kExitFault && c->mode == border::Mode::kCount) publish_fault(c);
  const border::ModeSwitch* const due = pass_stop(c, c->mode == border::Mode::kCount ? next_pc(c, d) : 0);
  if (c->step != Step::kNone && !has_retired(d)) end_step(c, false);
  handle_departure(c, d);
  follow_sent_fault(c);
  if (c->step != Step::kNone) end_step(c, true);
  if (due != nullptr) switch_mode(due->mode, c);
  set_normal_limit(c);
  bool uses_reserve = false;  // of the code cache
  for (;;) {
    if (c->pending.number.load(std::memory_order_relaxed) != 0) {
      c->mask_is_looked_at = 0;
      deliver_signal(c);
    }
    if (is_to_leave()) [[unlikely]] {
      leave_engine(c);
      if (c->pending.number.load(std::memory_order_relaxed) != 0) continue;
    }
    wait_for_memory(c);
    restore_limit(c);
    if (is_stepping(c) || c->goes_alone != 0) switch_chunk_if_full(c);   // code of one instruction does not look
    enter_cache_state(c);
    if (c->pending.number.load(std::memory_order_seq_cst) != 0 || c->mode != g_process.mode) {
      leave_cache_state(c);
      follow_mode(c);
      continue;
    }
    uint64_t full;
    if (const uint64_t code = find_code(c, d, uses_reserve, full)) {
      if (force_check(c)) request_stop(c);
      open_to_faults(c);
      return code;
    }
    leave_cache_state(c);
    if (full != 0)  // a thread may wait in the code cache for a page that this one is to bring: then on with what is left
      uses_reserve = !flush_translations(c, full, !g_process.user_faults);
    else if (!do_vsyscall(c) && !look_again(c->app.pc))
      raise_not_executable(c);
  }
}

}  // namespace simrun::engine
