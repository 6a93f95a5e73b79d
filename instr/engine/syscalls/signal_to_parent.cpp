#include "instr/engine/syscalls/signal_to_parent.h"

#include <charconv>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/syscalls/halt_sharer.h"

namespace simrun::engine {
namespace {

// 0: there is none that can be seen.
uint64_t parent_of(uint64_t process) {
  constexpr size_t kBehindState = 2;
  char text[kStatBytes];
  const std::string_view stat = read_stat(process, text);
  uint64_t parent = 0;
  if (stat.size() > kBehindState) std::from_chars(stat.data() + kBehindState, stat.data() + stat.size(), parent);
  return parent;
}

}  // namespace

bool answer_signal_to_parent(const ThreadContext* c, uint64_t number, int64_t& result) {
  if (number != SYS_kill && number != SYS_rt_sigqueueinfo) return false;
  const uint64_t* g = c->app.gpr;
  const int32_t simulator = __atomic_load_n(&g_process.header->simulator_pid, __ATOMIC_RELAXED);
  if (simulator <= 0 || static_cast<int32_t>(g[kRdi]) != simulator || raw_syscall(SYS_getppid) != simulator) return false;
  const uint64_t parent = parent_of(static_cast<uint64_t>(simulator));
  if (parent == 0) return false;
  result = raw_syscall(static_cast<int64_t>(number), parent, g[kRsi], g[kRdx]);
  return true;
}

}  // namespace simrun::engine
