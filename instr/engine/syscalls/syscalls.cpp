#include "instr/engine/syscalls/syscalls.h"

#include <asm/prctl.h>
#include <linux/sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <mutex>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/flush.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/syscalls/watch_mappings.h"
#include "instr/engine/threads/threads.h"
#include "instr/engine/translate/address_space.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kSyscallInstructionBytes = 2;

void set_result(ThreadContext* c, int64_t result) { c->app.gpr[kRax] = static_cast<uint64_t>(result); }
bool failed(const ThreadContext* c) { return c->app.gpr[kRax] > static_cast<uint64_t>(-4096); }

constexpr uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) & ~4095ull; }

// A mapping call changed [from, from + bytes): translations of what was there are void. That comes after the call: code
// that runs in a range while another thread unmaps it is a race of the application's own.
template <typename Note>
void after_mapping_change(ThreadContext* c, uint64_t from, uint64_t bytes, Note&& note) {
  bool translated;
  {
    const std::lock_guard lock(g_translation_lock);
    note();
    translated = has_translations(AppAddress{from}, AppAddress{from + bytes});
  }
  if (translated) flush_range(c, AppAddress{from}, AppAddress{from + bytes});
}

int64_t do_arch_prctl(ThreadContext* c) {
  const uint64_t operation = c->app.gpr[kRdi], value = c->app.gpr[kRsi];
  switch (operation) {
    case ARCH_SET_FS:
      if (value >> 47) return -EPERM;
      c->app_fs_base = value;
      append_event(c, border::Event::kFsBase, {value});
      return 0;
    case ARCH_GET_FS: return write_app(value, &c->app_fs_base, 8) ? 0 : -EFAULT;
    case ARCH_SET_GS:
      if (value >> 47) return -EPERM;
      c->app_gs_base = value;
      append_event(c, border::Event::kGsBase, {value});
      return 0;
    case ARCH_GET_GS: return write_app(value, &c->app_gs_base, 8) ? 0 : -EFAULT;
    default: return raw_syscall(SYS_arch_prctl, operation, value);
  }
}

// The image is replaced when this succeeds: the simulator sees kExec last. Returns false when a signal came first.
bool do_exec(ThreadContext* c) {
  append_event(c, border::Event::kExec, {});
  ignore_faults_for_exec();
  const bool done = pass_through(c);
  own_faults_again();
  append_event(c, border::Event::kExecFailed, {});
  return done;
}

// Calls whose effect on the engine follows the kernel's own work; `a` holds their arguments.
void after_pass_through(ThreadContext* c, uint64_t number, const uint64_t* a) {
  if (failed(c)) return;
  const uint64_t result = c->app.gpr[kRax], bytes = whole_pages(a[1]);
  const AppAddress from{a[0]}, to{result};
  switch (number) {
    case SYS_mmap: return after_mapping_change(c, result, bytes, [&] { note_mapped(to, bytes, a[2], a[3]); });
    case SYS_munmap: return after_mapping_change(c, a[0], bytes, [&] { note_unmapped(from, bytes); });
    case SYS_mprotect:
    case SYS_pkey_mprotect: return after_mapping_change(c, a[0], bytes, [&] { note_protected(from, bytes, a[2]); });
    case SYS_mremap:
      after_mapping_change(c, a[0], bytes, [&] { note_moved(from, bytes, to, whole_pages(a[2])); });
      return after_mapping_change(c, result, whole_pages(a[2]), [] {});
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_remap_file_pages:
      // Rare, and their sizes are the kernel's: look again, translate again.
      return after_mapping_change(c, 0, ~0ull << 12, [] { read_address_space(); });
    default: return;
  }
}

// The mask that a call sets for its own time; false when it sets none.
bool mask_of_call(const ThreadContext* c, uint64_t number, uint64_t& mask) {
  const uint64_t* g = c->app.gpr;
  uint64_t at = 0;
  switch (number) {
    case SYS_rt_sigsuspend: at = g[kRdi]; break;
    case SYS_ppoll: at = g[kR10]; break;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: at = g[kR8]; break;
    case SYS_pselect6:
      if (g[kR9] == 0 || !read_app(&at, g[kR9], sizeof at)) return false;
      break;
    default: return false;
  }
  return at != 0 && read_app(&mask, at, sizeof mask);
}

// A call through the gate, and what the engine does about it. False: a signal came first.
bool watched_call(ThreadContext* c, uint64_t number) {
  const uint64_t arguments[] = {c->app.gpr[kRdi], c->app.gpr[kRsi], c->app.gpr[kRdx], c->app.gpr[kR10], c->app.gpr[kR8], c->app.gpr[kR9]};
  uint64_t mask = 0;
  const bool masked = mask_of_call(c, number, mask);
  if (!pass_through(c)) return false;
  if (masked && c->app.gpr[kRax] == static_cast<uint64_t>(-EINTR) && c->pending.number.load(std::memory_order_relaxed) != 0) {
    c->call_mask = mask;
    c->has_call_mask = 1;
  }
  after_pass_through(c, number, arguments);
  if (g_process.header->watch_calls != 0 && !failed(c)) report_mapping_change(c, number, arguments);
  return true;
}

// Does the call, or has the kernel do it. False: a signal came first, nothing happened.
bool perform(ThreadContext* c, uint64_t number) {
  switch (number) {
    case SYS_rt_sigaction: set_result(c, do_sigaction(c)); return true;
    case SYS_sigaltstack: set_result(c, do_sigaltstack(c)); return true;
    case SYS_arch_prctl: set_result(c, do_arch_prctl(c)); return true;
    case SYS_rseq: set_result(c, -ENOSYS); return true;   // the C library falls back; restartable sequences cannot be kept in a code cache
    case SYS_clone: return do_clone(c);
    case SYS_clone3: return do_clone3(c);
    case SYS_fork: return do_fork(c, 0);
    case SYS_vfork: return do_fork(c, CLONE_VFORK | CLONE_VM);
    case SYS_execve:
    case SYS_execveat: return do_exec(c);
    default: return watched_call(c, number);
  }
}

}  // namespace

bool pass_through(ThreadContext* c) { return g_routines.gate(c) != 0; }

void do_syscall(ThreadContext* c) {
  uint64_t* g = c->app.gpr;
  const uint64_t number = g[kRax];
  c->events[c->last_event++ % 32] = {1000 + number, g[kRdi]};
  // The signal comes first, before any call that could unblock another one.
  if (c->pending.number.load(std::memory_order_relaxed) != 0) {
    c->app.pc -= kSyscallInstructionBytes;
    return;
  }
  if (number == SYS_exit) {
    end_thread(c);
    c->app.pc -= kSyscallInstructionBytes;
    return;
  }
  if (number == SYS_rt_sigreturn) {
    if (!do_sigreturn(c)) c->app.pc -= kSyscallInstructionBytes;
    return;
  }
  const bool blocks = may_block(c, number);
  append_event(c, border::Event::kSyscallEnter, {number, blocks ? 1ull : 0ull});
  if (blocks) set_thread_state(c, border::ThreadState::kInKernel);
  const bool done = perform(c, number);
  if (blocks) set_thread_state(c, border::ThreadState::kRunning);
  append_event(c, border::Event::kSyscallExit, {number, g[kRax]});
  if (!done) {
    c->app.pc -= kSyscallInstructionBytes;
    return;
  }
  // What the instruction itself does to registers (Intel SDM vol. 2, SYSCALL; SYSRET).
  g[kRcx] = c->app.pc;
  g[kR11] = c->app.flags;
}

}  // namespace simrun::engine
