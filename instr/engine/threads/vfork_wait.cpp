#include "instr/engine/threads/vfork_wait.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/wait.h>

#include <ctime>
#include <new>
#include <utility>

#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {
namespace {

ChildHasGoneOn* g_waiting_parent;   // of this process

// A child that nobody waits for any more is no child.
bool has_ended(uint64_t child) {
  siginfo_t info{};
  const int64_t result = raw_syscall(SYS_waitid, P_PID, child, word(&info), WEXITED | WNOHANG | WNOWAIT | __WALL, 0);
  return result == 0 ? info.si_pid != 0 : is_gone(child);
}

}  // namespace

ChildHasGoneOn* prepare_vfork_wait() {
  void* const memory = map_engine_memory(sizeof(ChildHasGoneOn), MAP_SHARED);
  return memory == MAP_FAILED ? nullptr : new (memory) ChildHasGoneOn(0);
}

void wait_for_child(ChildHasGoneOn* gone_on, int64_t child) {
  const timespec patience{0, 5'000'000};   // the end of one that was killed is not announced
  while (child > 0 && gone_on->load() == 0 && !has_ended(static_cast<uint64_t>(child)))
    raw_syscall(SYS_futex, word(gone_on), FUTEX_WAIT, 0, word(&patience));
  unmap_engine_memory(gone_on, sizeof *gone_on);
}

void note_waiting_parent(ChildHasGoneOn* gone_on) { g_waiting_parent = gone_on; }

void release_waiting_parent() {
  ChildHasGoneOn* const parent = std::exchange(g_waiting_parent, nullptr);
  if (parent == nullptr) return;
  parent->store(1);
  raw_syscall(SYS_futex, word(parent), FUTEX_WAKE, 1);
  unmap_engine_memory(parent, sizeof *parent);
}

}  // namespace simrun::engine
