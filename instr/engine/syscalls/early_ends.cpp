#include "instr/engine/syscalls/early_ends.h"

#include <poll.h>
#include <sys/wait.h>

#include <atomic>
#include <ctime>
#include <optional>

#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {
namespace {

std::atomic<bool> g_has_process_descriptor;   // has made one: who does not will not hear of an end early

// As of waitid.
struct Child {
  idtype_t kind;
  uint64_t id;
  uint64_t options;
};

// The one child whose end the call asks for, and may do so without waiting: that may be the pidfd's affair, too (PIDFD_NONBLOCK).
std::optional<Child> asked_for(uint64_t number, const uint64_t* a) {
  constexpr uint64_t kWhichChildren = __WALL | __WCLONE | __WNOTHREAD;
  if (number == SYS_wait4 && (a[2] & WNOHANG) != 0 && static_cast<int32_t>(a[0]) > 0)
    return Child{P_PID, static_cast<uint32_t>(a[0]), a[2] & kWhichChildren};
  const bool is_one = number == SYS_waitid && (a[0] == P_PIDFD || (a[0] == P_PID && (a[3] & WNOHANG) != 0));
  if (is_one && (a[3] & WEXITED) != 0)
    return Child{static_cast<idtype_t>(a[0]), static_cast<uint32_t>(a[1]), a[3] & kWhichChildren};
  return std::nullopt;
}

bool has_ended(const Child& child) {
  if (child.kind == P_PID) return g_has_process_descriptor.load(std::memory_order_relaxed) && is_gone(child.id);
  pollfd descriptor{static_cast<int>(child.id), POLLIN, 0};
  return raw_syscall(SYS_poll, word(&descriptor), 1, 0) == 1 && (descriptor.revents & POLLIN) != 0;
}

// Or the call fails, which is the kernel's to say.
bool can_be_waited_for(const Child& child) {
  siginfo_t info{};
  const int64_t result = raw_syscall(SYS_waitid, child.kind, child.id, word(&info), WEXITED | WNOHANG | WNOWAIT | child.options, 0);
  return result != 0 || info.si_pid != 0;
}

}  // namespace

void await_report_of_end(const ThreadContext* c, uint64_t number, const uint64_t* arguments) {
  const std::optional<Child> child = asked_for(number, arguments);
  if (!child) return;
  constexpr int kMoments = 1000;
  const timespec moment{0, 100'000};
  for (int k = 0; k < kMoments && has_ended(*child) && !can_be_waited_for(*child); ++k) {
    if (c->pending.number.load(std::memory_order_relaxed) != 0) return;
    raw_syscall(SYS_nanosleep, word(&moment), 0);
  }
}

void note_process_descriptors(const ThreadContext* c, uint64_t number) {
  if (number == SYS_pidfd_open && static_cast<int64_t>(c->app.gpr[kRax]) >= 0) g_has_process_descriptor.store(true, std::memory_order_relaxed);
}

}  // namespace simrun::engine
