#include "instr/engine/syscalls/exec.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <ctime>
#include <iterator>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/syscalls/resource_limits.h"
#include "instr/engine/syscalls/syscalls.h"
#include "instr/engine/threads/follow.h"
#include "instr/engine/threads/vfork_wait.h"

namespace simrun::engine {
namespace {

// By a name that this process can use without a descriptor of its own; execveat's names below a directory are taken to have none.
bool has_capabilities(uint64_t directory, uint64_t path, uint64_t flags) {
  const auto get = [](uint64_t name) { return raw_syscall(SYS_getxattr, name, word("security.capability"), 0, 0) > 0; };
  if (directory == static_cast<uint64_t>(AT_FDCWD)) return get(path);
  if ((flags & AT_EMPTY_PATH) == 0) return false;
  char by_descriptor[32] = "/proc/self/fd/";
  *std::to_chars(by_descriptor + std::strlen(by_descriptor), std::end(by_descriptor) - 1, static_cast<uint32_t>(directory)).ptr = 0;
  return get(word(by_descriptor));
}

// Not worth asking when there is no such file (a search along PATH makes such calls). And under a tracer without privileges the kernel
// ignores set-user-ID bits and file capabilities (security/commoncap.c): such a program runs natively, as it must.
bool can_be_followed(const ThreadContext* c) {
  const uint64_t* g = c->app.gpr;
  const bool at = (g[kRax] & 0xffffffff) == SYS_execveat;
  struct stat s;
  const uint64_t directory = at ? g[kRdi] : static_cast<uint64_t>(AT_FDCWD), path = at ? g[kRsi] : g[kRdi];
  const uint64_t flags = at ? g[kR8] & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) : 0;
  if (raw_syscall(SYS_newfstatat, directory, path, word(&s), flags) != 0 || !S_ISREG(s.st_mode)) return false;
  if (raw_syscall(SYS_geteuid) == 0) return true;
  return (s.st_mode & (S_ISUID | S_ISGID)) == 0 && !has_capabilities(directory, path, flags);
}

// One thread of a process at a time is traced for its exec: to seize a second one the kernel would wait for the first one's exec, which waits
// until the simulator, busy with that, has seen the end of a third (kernel/ptrace.c, cred_guard_mutex; fs/exec.c, de_thread). The exec of a
// thread that waits here is made when the other's has failed; otherwise there is nobody left to make it.
class OneExec {
 public:
  explicit OneExec(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    const auto self = static_cast<uint32_t>(raw_syscall(SYS_getpid));
    for (uint32_t who = 0; !executing_.compare_exchange_strong(who, self); who = who == self ? 0 : who) {
      const timespec patience{0, 100'000'000};
      // Another process's number is what a fork has copied: of a thread that is not here.
      if (who == self) raw_syscall(SYS_futex, word(&executing_), FUTEX_WAIT_PRIVATE, who, word(&patience));
    }
  }
  ~OneExec() {
    if (!wanted_) return;
    executing_.store(0);
    raw_syscall(SYS_futex, word(&executing_), FUTEX_WAKE_PRIVATE, 1);
  }
  OneExec(const OneExec&) = delete;
  OneExec& operator=(const OneExec&) = delete;

 private:
  static inline std::atomic<uint32_t> executing_{0};   // the process of the one; 0: nobody
  bool wanted_;
};

}  // namespace

bool do_exec(ThreadContext* c) {
  using border::FollowKind;
  const bool can_follow = g_process.header->follow_children != 0 && can_be_followed(c);
  const bool borrows = borrows_memory();   // the others go on in this memory
  const bool as_child = can_follow && borrows;
  const OneExec one(can_follow && !borrows);
  const uint64_t token = as_child ? g_process.header->last_token.fetch_add(1) + 1 : 0;
  const bool followed = can_follow && ask_simulator(as_child ? FollowKind::kVforked : FollowKind::kExec, token);
  if (g_process.counting()) end_budget(c);   // nobody looks at this image's counters afterwards
  if (as_child)
    append_event(c, border::Event::kProcessFork, {static_cast<uint64_t>(raw_syscall(SYS_getpid)), token});
  else
    append_event(c, border::Event::kExec, {followed});
  if (!borrows) have_others_publish(c);
  ignore_faults_for_exec();
  give_limits_to_kernel();
  const bool done = pass_through(c);
  if (!borrows) forget_published();
  if (done) c->waited_in_vain = 0;
  take_limits_back();
  own_faults_again();
  if (followed) ask_simulator(FollowKind::kExecFailed);
  if (!as_child) append_event(c, border::Event::kExecFailed, {followed});
  return done;
}

}  // namespace simrun::engine
