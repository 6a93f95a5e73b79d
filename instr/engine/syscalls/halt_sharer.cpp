#include "instr/engine/syscalls/halt_sharer.h"

#include <signal.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/small_files.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/dispatch/safe_points.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kPatience = 300;  // milliseconds, for threads to leave the code cache

struct Halt {
  uint64_t whom;  // by number; 0: nobody, or the call does not name one
  bool stops;     // else it kills
};

Halt halted_by(const ThreadContext* c, uint64_t number) {
  const uint64_t* g = c->app.gpr;
  if (number == SYS_ptrace)
    return g[kRdi] == PTRACE_ATTACH || g[kRdi] == PTRACE_INTERRUPT ? Halt{g[kRsi], true} : Halt{};
  const bool names_thread = number == SYS_tgkill || number == SYS_rt_tgsigqueueinfo;
  if (!names_thread && number != SYS_kill && number != SYS_tkill && number != SYS_rt_sigqueueinfo) return {};
  const auto signal = static_cast<int>(g[names_thread ? kRdx : kRsi]);
  const auto whom = static_cast<int32_t>(g[names_thread ? kRsi : kRdi]);
  if (whom <= 0 || (signal != SIGKILL && signal != SIGSTOP)) return {};
  return {static_cast<uint64_t>(whom), signal == SIGSTOP};
}

// Where /proc says nothing, too.
bool has_stopped(uint64_t tid) {
  char text[kStatBytes];
  const std::string_view stat = read_stat(tid, text);
  return stat.empty() || stat[0] == 'T' || stat[0] == 't';
}

// A signal takes a moment to reach who runs on another processor. Bounded: a tracer can keep the dying from it, and
// somebody may let the stopped go on.
void wait_for_halt(uint64_t tid, bool stops) {
  const timespec nap{0, 100'000};
  for (int k = 0; k < 10'000 && !is_gone(tid) && !(stops && has_stopped(tid)); ++k)
    raw_syscall(SYS_nanosleep, word(&nap), 0);
}

}  // namespace

std::string_view read_stat(uint64_t tid, std::span<char, kStatBytes> memory) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%lu/stat", tid);
  const std::string_view stat = read_small_file(path, memory);
  const size_t state = stat.rfind(')') + 2;
  return state < stat.size() ? stat.substr(state) : std::string_view();
}

ThreadContext* sharer(const ThreadContext* caller, uint64_t tid) {
  const uint32_t slots = g_process.header->slots_used.load();
  for (uint32_t k = 0; k < slots; ++k) {
    ThreadContext* const thread = g_process.slot(k);
    const auto state = static_cast<border::ThreadState>(thread->ring.state.load());
    if (thread->tid != tid || thread->pid_namespace != caller->pid_namespace || state == border::ThreadState::kFree ||
        state == border::ThreadState::kDead)
      continue;
    const bool own = raw_syscall(SYS_tgkill, static_cast<uint64_t>(raw_syscall(SYS_getpid)), tid, 0) == 0;
    return own ? nullptr : thread;
  }
  return nullptr;
}

bool answer_halting_call(ThreadContext* c, uint64_t number, int64_t& result) {
  const auto [whom, stops] = halted_by(c, number);
  if (whom == 0 || sharer(c, whom) == nullptr) return false;
  const uint64_t mask = block_signals();
  const bool all_out = stops && try_stop_world(c, kPatience);
  all_out ? lock_with_world_stopped() : lock_for_fork();
  const uint64_t* g = c->app.gpr;
  result = raw_syscall(static_cast<int64_t>(number), g[kRdi], g[kRsi], g[kRdx], g[kR10]);
  if (result == 0) wait_for_halt(whom, stops);
  all_out ? unlock_with_world_stopped() : unlock_after_fork();
  if (all_out) resume_world();
  set_signal_mask(mask);
  return true;
}

}  // namespace simrun::engine
