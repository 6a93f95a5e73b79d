// How threads are brought out of the engine: those that run come to the dispatcher by themselves; those that wait in a system call are
// interrupted and sent there.
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <set>
#include <thread>
#include <vector>

#include "base/user_error.h"
#include "instr/host/attach.h"
#include "instr/host/remote_process.h"
#include "instr/host/resource_limits.h"
#include "instr/host/stopped_threads.h"

namespace simrun::host {
namespace {

using border::Leaving;

std::chrono::steady_clock::time_point after_patience() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

class Detacher {
 public:
  explicit Detacher(Target& target) : target_(target), h_(target.header()) {}
  ~Detacher() {
    for (const auto end = after_patience(); !seized_.empty() && std::chrono::steady_clock::now() < end; usleep(2000)) settle_all();
  }

  bool run() {
    const auto end = after_patience();
    set(Leaving::kPark);
    while (std::chrono::steady_clock::now() < end) {
      if (!target_.running() || h_.engine_state >= 2) return true;
      if (seized_.empty() && h_.parked == living_threads(target_.pid()).size() && replace(Leaving::kPark, Leaving::kGo)) return true;
      call_threads();
      settle_all();
      usleep(2000);
    }
    return !replace(Leaving::kPark, Leaving::kNo);
  }

 private:
  void set(Leaving l) {
    h_.leaving.store(static_cast<uint32_t>(l), std::memory_order_seq_cst);
    wake();
  }
  bool replace(Leaving from, Leaving to) {
    uint32_t value = static_cast<uint32_t>(from);
    const bool done = h_.leaving.compare_exchange_strong(value, static_cast<uint32_t>(to));
    if (done) wake();
    return done;
  }
  void wake() { syscall(SYS_futex, reinterpret_cast<uint32_t*>(&h_.leaving), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

  // Those in the code cache stop at their next check. Those that do not come have a system call of theirs looked into.
  void call_threads() {
    ++round_;
    for (uint32_t k = 0; k < h_.slots_used; ++k) {
      border::ThreadSlot& s = target_.slot(k);
      const auto state = static_cast<border::ThreadState>(s.ring.state.load());
      if (state == border::ThreadState::kFree || state == border::ThreadState::kDead || state == border::ThreadState::kWaitingInEngine) continue;
      s.limit.store(0, std::memory_order_seq_cst);
      s.indirect_mask.store(0, std::memory_order_seq_cst);
      const auto tid = static_cast<pid_t>(s.ring.tid.load());
      if (tid == 0 || round_ < 3 || round_ % 5 != 0 || seized_.contains(tid) || !seize_thread(tid)) continue;
      reaper_.add(tid);
      ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
      seized_.insert(tid);
    }
  }

  void settle_all() {
    for (const pid_t tid : std::set<pid_t>(seized_))
      if (settle(tid)) seized_.erase(tid);
  }

  // A thread that was asked to stop: if it has, it goes on, at the gate's way out when it was waiting in the gate. True: not held any more.
  bool settle(pid_t tid) {
    int status = 0;
    const pid_t who = waitpid(tid, &status, __WALL | WNOHANG);
    if (who == 0) return false;
    // One that executes a program goes on under its process's number.
    if (who < 0 && tid != target_.pid() && ptrace(PTRACE_INTERRUPT, target_.pid(), nullptr, nullptr) == 0) seized_.insert(target_.pid());
    if (who < 0 || !WIFSTOPPED(status)) return true;
    if (status >> 16 != PTRACE_EVENT_STOP) {
      ptrace(PTRACE_CONT, tid, nullptr, WSTOPSIG(status) & 0x80 ? 0 : WSTOPSIG(status));
      return false;
    }
    user_regs_struct r{};
    if (ptrace(PTRACE_GETREGS, tid, nullptr, &r) == 0 && r.rip == h_.gate_end && !is_about_to_handle(tid) && restart_call(r)) {
      r.rip = h_.gate_abort;
      ptrace(PTRACE_SETREGS, tid, nullptr, &r);
    }
    reaper_.let_go(tid);
    return true;
  }

  Target& target_;
  border::ProcessHeader& h_;
  std::set<pid_t> seized_;
  Reaper reaper_;
  int round_ = 0;
};

}  // namespace

namespace {

// What the thread traces is let go when this returns: a thread can be joined before (kernel/exit.c: exit_mm, exit_notify).
template <typename Work>
void run_on_short_thread(Work work) {
  pid_t tid = 0;
  std::thread([&] {
    tid = gettid();
    work();
  }).join();
  const auto end = after_patience();
  while (syscall(SYS_tgkill, getpid(), tid, 0) == 0 && std::chrono::steady_clock::now() < end) usleep(100);
}

}  // namespace

void remove_engine(Target& target) {
  const border::ProcessHeader& h = target.header();
  const auto* const list = reinterpret_cast<const border::AddressRange*>(static_cast<const char*>(target.mapping()) + h.app_mappings_offset);
  const std::vector<border::AddressRange> ranges(list, list + h.app_mappings);
  const auto is_engine = [&](uint64_t address) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) { return address - r.base < r.bytes; });
  };
  for (int attempt = 0; attempt < 100 && target.running(); ++attempt) {
    StoppedThreads threads(target.pid());
    threads.begin_calls_again();
    bool inside = false;
    user_regs_struct first{};
    for (const pid_t tid : threads.all()) {
      user_regs_struct r{};
      inside |= ptrace(PTRACE_GETREGS, tid, nullptr, &r) != 0 || is_engine(r.rip);
      if (tid == threads.all()[0]) first = r;
    }
    if (inside) {
      usleep(1000);
      continue;
    }
    RemoteProcess process(threads.all()[0], first);
    for (const border::AddressRange& r : ranges) process.call(SYS_munmap, {r.base, r.bytes});
    take_room_back(target.pid(), h);
    process.give_back();
    threads.enter_calls();
    return;
  }
}

bool detach(Target& target) { return Detacher(target).run(); }

bool has_threads(const Target& target) {
  for (uint32_t k = 0; k < target.header().slots_used; ++k) {
    const uint32_t state = target.slot(k).ring.state.load();
    if (state != static_cast<uint32_t>(border::ThreadState::kFree) && state != static_cast<uint32_t>(border::ThreadState::kDead)) return true;
  }
  return false;
}

uint32_t threads_to_begin(const Target& target) {
  const border::ProcessHeader& h = target.header();
  uint32_t count = 0;
  for (uint32_t k = 0; k < h.attached_threads && k < h.slots_used; ++k) {
    const auto& ring = target.slot(k).ring;
    const bool is_first = ring.generation.load() == 1;   // no later thread in its slot
    if (is_first && ring.state.load() == static_cast<uint32_t>(border::ThreadState::kStarting) && ring.tid.load() == 0) ++count;
  }
  return count;
}

bool leave_native(Target& target) {
  if (!detach(target)) return false;
  while (target.running() && (target.header().leaving != static_cast<uint32_t>(Leaving::kGone) || has_threads(target))) usleep(1000);
  if (target.running()) run_on_short_thread([&] {
    try {
      remove_engine(target);
    } catch (const UserError&) {
      // It stays mapped, and does nothing there.
    }
  });
  return true;
}

}  // namespace simrun::host
