#include "instr/engine/threads/child_process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "instr/engine/codecache/memory_file.h"
#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/descriptor_tables.h"
#include "instr/engine/dispatch/fpu_pointers.h"
#include "instr/engine/dispatch/indirect_table.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/signals/actions.h"
#include "instr/engine/threads/follow.h"
#include "instr/engine/threads/identity.h"
#include "instr/engine/threads/threads.h"

namespace simrun::engine {
namespace {

std::atomic<ChildProcess*> g_born_from;

[[noreturn]] void leave(ChildProcess* child) {
  if (!child->shares_memory) release_waiting_parent();
  give_process_back(child->clears_handlers);
  go_native(child->native);
}

bool put(int fd, const void* from, uint64_t bytes, uint64_t at) {
  return pwrite(fd, from, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
}

// The parent's header as it was when the parent's engine started, but for what says where this child is.
bool put_header(int fd, const ThreadContext& thread) {
  alignas(border::ProcessHeader) uint8_t copy[sizeof(border::ProcessHeader)];
  std::memcpy(copy, static_cast<const void*>(g_process.header), sizeof copy);
  auto& h = *reinterpret_cast<border::ProcessHeader*>(copy);
  h.engine_state = 1;
  h.instructions = h.operands = h.superblocks = h.paths = 0;
  h.mode_switches = 0;   // they are for threads of the parent
  h.slots_used = thread.slot + 1;
  std::memset(static_cast<void*>(&h.statistics), 0, sizeof h.statistics);
  std::memset(static_cast<void*>(h.requests), 0, sizeof h.requests);
  h.dropped_words = 0;
  h.failure[0] = h.report[0] = 0;
  h.log_lines = 0;
  h.code_mapped = 0;
  h.leaving = h.parked = 0;
  h.consumer_sleeps = 0;
  return put(fd, copy, sizeof copy, 0);
}

uint64_t slot_offset(const ThreadContext& thread) {
  return g_process.header->slots_offset + thread.slot * g_process.header->slot_bytes;
}

// The simulator sees this file from the answer on; the slot is taken (kStarting) already.
int make_home(ChildProcess* child) {
  const ThreadContext& thread = *child->thread();
  const uint64_t bytes = g_process.header->mapping_bytes;
  const RaisedFileSizeLimit limit(bytes);
  const int fd = make_memory_file("simrun", bytes);
  if (fd < 0) return -1;
  if (put_header(fd, thread) && put(fd, &thread, sizeof thread, slot_offset(thread))) return fd;
  close(fd);
  return -1;
}

int make_code_file() {
  const RaisedFileSizeLimit limit(g_code_cache.capacity());
  const int fd = make_memory_file("simrun-code-cache", g_code_cache.capacity());
  if (fd < 0 || g_code_cache.copy_kept_to(fd)) return fd;
  close(fd);
  return -1;
}

// From here on nothing may fail that would leave the child between two homes: `fail` ends it with a message.
void move_in(int mapping, int code, const ThreadContext& thread) {
  const border::ProcessHeader& old = *g_process.header;
  const uint64_t bytes = old.mapping_bytes;
  void* const at = mmap(g_process.base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, mapping, 0);
  if (at != g_process.base) raw_syscall(SYS_exit_group, 125);
  madvise(at, bytes, MADV_DONTDUMP);
  close(mapping);
  if (!g_code_cache.move_to(code)) fail("a child process has no room for its code cache: %s", std::strerror(errno));
  close(code);
  if (!make_indirect_table() || !map_only_indirect_window(thread.slot)) fail("a child process has no room for its indirect targets");
}

[[noreturn]] void go_on_in_engine(ChildProcess* child, int mapping, int code) {
  move_in(mapping, code, *child->thread());
  g_process.pid = raw_syscall(SYS_getpid);
  ThreadContext* c = g_process.slot(child->thread()->slot);
  settle_fpu_pointer(c);
  drop_translations();
  start_descriptor_tables();
  keep_only_identity(c->identity);
  g_born_from = child;
  asm volatile("mov %0, %%r12\n jmp *%1" : : "r"(c), "r"(g_routines.thread_start) : "memory", "r12");
  __builtin_unreachable();
}

}  // namespace

void drop_birth_state() {
  if (ChildProcess* const state = g_born_from.exchange(nullptr); state != nullptr) unmap_engine_memory(state, sizeof *state);
}

void start_child_process(ChildProcess* child) {
  if (!child->shares_memory) {
    unlock_after_fork();   // the copies: there is no other thread here
    note_waiting_parent(child->parent_waits);
    forget_children();
    if (child->clears_handlers) note_cleared_handlers();
  }
  if (child->token == 0) leave(child);
  if (child->shares_memory) {
    ask_simulator(border::FollowKind::kVforked, child->token);
    leave(child);
  }
  const int mapping = make_home(child);
  const int code = mapping < 0 ? -1 : make_code_file();
  if (code >= 0 && ask_simulator(border::FollowKind::kForked, child->token, static_cast<uint32_t>(mapping)))
    go_on_in_engine(child, mapping, code);
  // Refused, or no room: said to the simulator, which waits for this child, in the same way.
  if (code < 0) ask_simulator(border::FollowKind::kForked, child->token, ~0u);
  if (mapping >= 0) close(mapping);
  if (code >= 0) close(code);
  leave(child);
}

}  // namespace simrun::engine
