#include "instr/engine/syscalls/early_ends.h"

#include <poll.h>
#include <sys/wait.h>

#include <cstdio>
#include <ctime>
#include <optional>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/small_files.h"

namespace simrun::engine {
namespace {

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

// Of a child by its number also when other threads of it go on.
bool has_ended(const Child& child) {
  if (child.kind == P_PID) return is_gone(child.id);
  pollfd descriptor{static_cast<int>(child.id), POLLIN, 0};
  return raw_syscall(SYS_poll, word(&descriptor), 1, 0) == 1 && (descriptor.revents & POLLIN) != 0;
}

// Or the call fails, which is the kernel's to say.
bool can_be_waited_for(const Child& child) {
  siginfo_t info{};
  const int64_t result = raw_syscall(SYS_waitid, child.kind, child.id, word(&info), WEXITED | WNOHANG | WNOWAIT | child.options, 0);
  return result != 0 || info.si_pid != 0;
}

bool is_traced_by_simulator(const Child& child) {
  char path[40], text[1024];
  uint64_t pid = child.id;
  if (child.kind == P_PIDFD) {
    std::snprintf(path, sizeof path, "/proc/self/fdinfo/%lu", child.id);
    pid = number_behind(read_small_file(path, text), "\nPid:\t");
  }
  std::snprintf(path, sizeof path, "/proc/%lu/status", pid);
  const uint64_t tracer = number_behind(read_small_file(path, text), "\nTracerPid:\t");   // a thread's
  const auto simulator = static_cast<uint64_t>(__atomic_load_n(&g_process.header->simulator_pid, __ATOMIC_RELAXED));
  return pid != 0 && tracer != 0 && simulator != 0 && raw_syscall(SYS_tgkill, simulator, tracer, 0) != -ESRCH;
}

uint64_t now_milliseconds() {
  timespec now{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, word(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace

void await_report_of_end(const ThreadContext* c, uint64_t number, const uint64_t* arguments) {
  const std::optional<Child> child = asked_for(number, arguments);
  if (!child) return;
  constexpr uint64_t kPatience = 1000;
  const timespec moment{0, 100'000};
  uint64_t began = 0;
  while (has_ended(*child) && !can_be_waited_for(*child) && is_traced_by_simulator(*child)) {
    if (began == 0) began = now_milliseconds();
    if (c->pending.number.load(std::memory_order_relaxed) != 0 || now_milliseconds() - began > kPatience) return;
    raw_syscall(SYS_nanosleep, word(&moment), 0);
  }
}

}  // namespace simrun::engine
