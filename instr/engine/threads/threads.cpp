#include "instr/engine/threads/threads.h"

#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/dispatch/indirect_table.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/actions.h"
#include "instr/engine/signals/vector_frame.h"
#include "instr/engine/threads/child_process.h"
#include "instr/engine/threads/follow.h"
#include "instr/engine/threads/identity.h"
#include "instr/engine/threads/vfork_wait.h"

namespace simrun::engine {
namespace {

bool claim(ThreadContext* c) {
  uint32_t free = static_cast<uint32_t>(border::ThreadState::kFree);
  return c->ring.state.compare_exchange_strong(free, static_cast<uint32_t>(border::ThreadState::kStarting));
}

void reset_context(ThreadContext* c, uint32_t slot) {
  c->self = c;
  c->slot = slot;
  c->default_mxcsr = 0x1f80;
  c->exit_id = kExitStart;
  c->pending.number = 0;
  c->app_altstack = stack_t{nullptr, SS_DISABLE, 0};
  c->in_cache = 0;
  c->actions = first_actions();
  c->filters = nullptr;
  c->strict = 0;
  c->last_trap = {};
  c->tsc_refused = 0;
  c->comparisons_left = g_process.header->protect_code_after;
  c->call_in_progress.store(0);
  c->write_to_code = 0;
  c->user_dispatch = {};
  c->step = Step::kNone;
  c->goes_alone = 0;
  c->waited_in_vain = 0;
  c->open_to_faults = 0;
  c->took_blocked = 0;
  c->mask_is_looked_at = 0;
  c->begins_process = 0;
  c->pid_namespace = 0;
  c->has_call_mask = 0;
  c->view_attempts = 0;
  c->call_to_restart = 0;
  c->interrupted = 0;
  c->has_called = 0;
  c->has_used_tiles = 0;
  c->last_event = 0;
  c->check_countdown = slot * 7919u + 1;
  c->ring.generation.fetch_add(1);
  start_ring(c);
  restore_limit(c);
}

void release_unused_slot(ThreadContext* c) { c->ring.state.store(static_cast<uint32_t>(border::ThreadState::kFree)); }

void adopt(ThreadContext* c, ThreadIdentity* identity) {
  c->identity = identity;
  c->engine_fs_base = identity->fs_base;
  c->engine_sp = identity->stack_top;
}

// A clone-like call: registers for the kernel, and what the application asked for.
struct CloneRequest {
  uint64_t registers[7];     // rax rdi rsi rdx r10 r8 r9
  clone_args arguments;      // clone3: a private copy that the registers point to
  uint64_t flags;
  uint64_t stack;            // the child's stack pointer; 0: as the parent's
  uint64_t tls;

  void clear(uint64_t flag) {
    flags &= ~flag;
    if (is_clone3())
      arguments.flags &= ~flag;
    else
      registers[1] &= ~flag;
  }
  bool is_clone3() const { return registers[0] == SYS_clone3; }
  // The kernel starts the child on a stack of ours.
  void set_stack(uint64_t top) {
    if (is_clone3()) {
      arguments.stack_size = 4096;
      arguments.stack = top - arguments.stack_size;
      registers[1] = word(&arguments);
    } else {
      registers[2] = top;
    }
  }
};

// The actions of a child's process: false without memory.
bool give_actions(ThreadContext* child, const ThreadContext* parent, uint64_t flags) {
  child->actions = flags & CLONE_SIGHAND ? share_actions(parent->actions)
                                         : copy_actions(*parent->actions, (flags & CLONE_CLEAR_SIGHAND) != 0);
  return child->actions != nullptr;
}

int64_t make_clone(const ThreadContext* c, const CloneRequest& request, uint64_t start, void* child) {
  return (c->call_allowed != 0 ? g_routines.judged_clone : g_routines.clone)(request.registers, start, child);
}

// A child in the same address space, running under the engine: a thread, or a process that shares memory.
int64_t clone_thread(ThreadContext* c, CloneRequest& request, uint64_t mask) {
  ThreadContext* child = take_slot();
  if (child == nullptr) return -EAGAIN;
  ThreadIdentity* identity = take_identity();
  if (identity == nullptr || !give_actions(child, c, request.flags)) {
    if (identity != nullptr) __atomic_store_n(&identity->released, 1u, __ATOMIC_RELEASE);
    release_unused_slot(child);
    return -EAGAIN;
  }
  adopt(child, identity);
  child->app = c->app;
  child->app.gpr[kRax] = 0;
  child->app.gpr[kRcx] = c->app.pc;
  child->app.gpr[kR11] = c->app.flags;
  if (request.stack != 0) child->app.gpr[kRsp] = request.stack;
  child->app_fs_base = request.flags & CLONE_SETTLS ? request.tls : c->app_fs_base;
  child->app_gs_base = c->app_gs_base;
  std::memcpy(child->vector_state, c->vector_state, sizeof child->vector_state);
  child->app_mask = mask;
  child->filters = c->filters;
  child->strict = c->strict;
  child->last_trap = c->last_trap;
  if (request.flags & CLONE_VFORK) child->app_altstack = c->app_altstack;   // kernel/fork.c, copy_process
  child->tsc_refused = c->tsc_refused;
  append_event(c, border::Event::kThreadCreate, {child->slot});
  child->parent_slot = c->slot;
  child->begins_process = (request.flags & CLONE_THREAD) == 0;
  child->pid_namespace = c->pid_namespace;
  request.set_stack(identity->stack_top);
  const int64_t result = make_clone(c, request, g_routines.thread_start, child);
  if (result < 0) {
    __atomic_store_n(&identity->released, 1u, __ATOMIC_RELEASE);
    release_actions(child->actions);
    append_event(c, border::Event::kThreadCreateFailed, {child->slot});
    append_event(child, border::Event::kThreadStart, {0, c->slot, child->app_fs_base});
    append_event(child, border::Event::kThreadEnd, {});
    set_thread_state(child, end_ring(child));
  }
  return result;
}

bool is_to_be_followed(const CloneRequest&) { return g_process.header->follow_children != 0; }

// The child's copy of the forking thread: in private memory, since the context itself is shared with the parent.
void prepare_child(ThreadContext* c, const CloneRequest& request, uint64_t mask, ChildProcess& child) {
  auto& header = *g_process.header;
  child.token = is_to_be_followed(request) ? header.last_token.fetch_add(1) + 1 : 0;
  child.shares_memory = (request.flags & CLONE_VM) != 0;
  child.clears_handlers = (request.flags & CLONE_CLEAR_SIGHAND) != 0;
  std::memcpy(child.context, static_cast<const void*>(c), sizeof child.context);
  ThreadContext& copy = *child.thread();
  copy.app.gpr[kRax] = 0;
  copy.app.gpr[kRcx] = c->app.pc;
  copy.app.gpr[kR11] = c->app.flags;
  if (request.stack != 0) copy.app.gpr[kRsp] = request.stack;
  if (request.flags & CLONE_SETTLS) copy.app_fs_base = request.tls;
  copy.app_mask = mask;
  copy.parent_slot = ~0u;
  copy.in_cache = 0;
  copy.waited_in_vain = 0;
  copy.user_dispatch = {};
  start_ring(&copy);
  copy.ring.state = static_cast<uint32_t>(border::ThreadState::kStarting);
  fill_native_state(&copy, child.native);
}

// A process: of fork, or of vfork (which shares memory, but has signal handlers and registers of its own).
int64_t clone_process(ThreadContext* c, CloneRequest& request, uint64_t mask) {
  drop_birth_state();
  void* memory = map_engine_memory(sizeof(ChildProcess));
  if (memory == MAP_FAILED) return -ENOMEM;
  auto* child = static_cast<ChildProcess*>(memory);
  prepare_child(c, request, mask, *child);
  if ((request.flags & CLONE_VFORK) && !child->shares_memory && child->token != 0) {
    child->parent_waits = prepare_vfork_wait();
    if (child->parent_waits != nullptr) request.clear(CLONE_VFORK);
  }
  request.set_stack(word(std::end(child->stack)) & ~63ull);
  // With vfork the parent sleeps here until the child has gone on to a program of its own or ended: it must hold no lock.
  if (!child->shares_memory) lock_for_fork();
  const int64_t result = make_clone(c, request, g_routines.process_start, child);
  if (!child->shares_memory) unlock_after_fork();
  if (result > 0) {
    note_child(static_cast<uint64_t>(result), child->token);
    append_event(c, border::Event::kProcessFork, {static_cast<uint64_t>(result), child->token});
  }
  if (child->parent_waits != nullptr) {
    set_thread_state(c, border::ThreadState::kInKernel);   // it has been told
    wait_for_child(child->parent_waits, result);
  }
  unmap_engine_memory(memory, sizeof(ChildProcess));
  return result;
}

bool finish_clone(ThreadContext* c, CloneRequest& request) {
  // What vfork makes goes native, for which it needs signal actions of its own.
  const bool stays = (request.flags & CLONE_VM) != 0 && (request.flags & (CLONE_VFORK | CLONE_SIGHAND)) != CLONE_VFORK;
  if (stays || is_to_be_followed(request)) report_before_company(c);
  // No signal may come to a child that has no context, or to a helper thread. One that came just before has the application's mask.
  const uint64_t mask = block_signals(kFaultsToo);
  if (c->pending.number.load(std::memory_order_relaxed) != 0) return false;
  // A thread (`stays`) is in the streams, and may need others until it ends; a process executes a program, mostly soon.
  const bool waits = (request.flags & CLONE_VFORK) != 0;
  if (waits) set_thread_state(c, stays ? border::ThreadState::kInKernel : border::ThreadState::kInShortCall);
  const int64_t result = stays ? clone_thread(c, request, mask) : clone_process(c, request, mask);
  if (waits) set_thread_state(c, border::ThreadState::kRunning);
  c->app.gpr[kRax] = static_cast<uint64_t>(result);
  set_signal_mask(mask);
  return true;
}

}  // namespace

ThreadContext* take_slot() {
  auto& used = g_process.header->slots_used;
  for (uint32_t k = 0; k < border::kMaxThreads; ++k) {
    ThreadContext* c = g_process.slot(k);
    if (!claim(c)) continue;
    if (!map_indirect_window(k)) {
      release_unused_slot(c);
      return nullptr;
    }
    reset_context(c, k);
    uint32_t seen = used.load();
    while (seen < k + 1 && !used.compare_exchange_weak(seen, k + 1)) continue;
    return c;
  }
  return nullptr;
}

bool do_clone(ThreadContext* c) {
  const uint64_t* g = c->app.gpr;
  const uint64_t flags = g[kRdi] & 0xffffffff;   // of the rest the kernel takes no notice (kernel/fork.c)
  CloneRequest request{{SYS_clone, flags, g[kRsi], g[kRdx], g[kR10], g[kR8], 0}, {}, flags, g[kRsi], g[kR8]};
  return finish_clone(c, request);
}

namespace {

constexpr uint64_t kUserAddresses = (1ull << 47) - 4096;   // TASK_SIZE_MAX

// Bytes of a structure beyond what we know must be zero (kernel: copy_struct_from_user; the first that is not decides).
int64_t check_zeroes(uint64_t at, uint64_t end) {
  uint8_t bytes[64];
  while (at < end) {
    uint64_t size = std::min<uint64_t>(end - at, sizeof bytes);
    if (!read_app(bytes, at, size)) {
      size = 1;   // byte by byte towards what cannot be read
      if (!read_app(bytes, at, size)) return -EFAULT;
    }
    if (std::any_of(bytes, bytes + size, [](uint8_t b) { return b != 0; })) return -E2BIG;
    at += size;
  }
  return 0;
}

// What the kernel would say to the sizes (kernel/fork.c: clone3, copy_clone_args_from_user, clone3_stack_valid): those of the
// structure, and those of the stack, which it does not see.
int64_t read_clone3(ThreadContext* c, clone_args& a) {
  const uint64_t from = c->app.gpr[kRdi], size = c->app.gpr[kRsi];
  if (size > 4096) return -E2BIG;
  if (size < CLONE_ARGS_SIZE_VER0) return -EINVAL;
  if (const int64_t error = check_zeroes(from + sizeof a, from + size); error != 0) return error;
  if (!read_app(&a, from, std::min<uint64_t>(size, sizeof a))) return -EFAULT;
  if ((a.stack == 0) != (a.stack_size == 0)) return -EINVAL;
  if (a.stack_size > kUserAddresses || a.stack > kUserAddresses - a.stack_size) return -EINVAL;
  return 0;
}

}  // namespace

bool do_clone3(ThreadContext* c) {
  CloneRequest request{};
  if (const int64_t error = read_clone3(c, request.arguments); error != 0) {
    c->app.gpr[kRax] = static_cast<uint64_t>(error);
    return true;
  }
  request.registers[0] = SYS_clone3;
  request.registers[1] = word(&request.arguments);
  request.registers[2] = std::min<uint64_t>(c->app.gpr[kRsi], sizeof request.arguments);
  request.flags = request.arguments.flags;
  request.stack = request.arguments.stack == 0 ? 0 : request.arguments.stack + request.arguments.stack_size;
  request.tls = request.arguments.tls;
  return finish_clone(c, request);
}

bool do_fork(ThreadContext* c, uint64_t flags) {
  CloneRequest request{{SYS_clone, flags | 17 /* SIGCHLD */, 0, 0, 0, 0, 0}, {}, flags, 0, 0};
  return finish_clone(c, request);
}

void start_thread(ThreadContext* c) {
  use_signal_stack(c, c->identity->signal_stack);
  // The parent has no number in a namespace that begins with this process.
  static std::atomic<uint32_t> namespaces;
  if (c->begins_process != 0 && raw_syscall(SYS_getppid) == 0) c->pid_namespace = namespaces.fetch_add(1) + 1;
  c->tid = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  c->ring.tid.store(c->tid);
  append_event(c, border::Event::kThreadStart, {c->tid, c->parent_slot == ~0u ? ~0ull : c->parent_slot, c->app_fs_base});
  set_thread_state(c, border::ThreadState::kRunning);
  if (c->actions != first_actions()) own_faults_again();   // CLONE_CLEAR_SIGHAND took them
  // The mask was blocked around the clone: what the parent had is the child's.
  set_signal_mask(c->app_mask);
  c->exit_id = kExitStart;
}

void end_thread(ThreadContext* c, uint64_t call) {
  block_signals(kFaultsToo);
  if (c->pending.number.load(std::memory_order_relaxed) != 0) return;
  const uint64_t status = c->app.gpr[kRdi];
  end_budget(c);
  append_event(c, border::Event::kThreadEnd, {});
  // The kernel must not find a signal stack that another thread uses.
  const stack_t none{nullptr, SS_DISABLE, 0};
  raw_syscall(SYS_sigaltstack, word(&none), 0);
  release_actions(c->actions);
  const border::ThreadState state = end_ring(c);
  static uint32_t nobody;
  wake_consumer();
  g_routines.exit_thread(status, static_cast<uint32_t>(state), c->identity != nullptr ? &c->identity->released : &nobody, call);
  __builtin_unreachable();
}

void kill_thread(ThreadContext* c) {
  block_signals(kFaultsToo);
  raw_syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  append_event(c, border::Event::kThreadEnd, {});
  const border::ThreadState state = end_ring(c);
  c->ring.state.store(static_cast<uint32_t>(state), std::memory_order_seq_cst);
  for (;;) raw_syscall(SYS_getpid);   // the kernel ends the thread here, or when a full ring made it wait
}

}  // namespace simrun::engine
