#include "instr/host/stopped_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "base/user_error.h"
#include "instr/host/file_descriptor.h"

namespace simrun::host {
namespace {

constexpr int kPatienceMilliseconds = 5000;

bool has_ended(pid_t pid, pid_t tid) {
  const std::ifstream in(fmt::format("/proc/{}/task/{}/stat", pid, tid));
  std::ostringstream whole;
  whole << in.rdbuf();
  const std::string text = whole.str();
  const size_t at = text.rfind(')');
  return at == std::string::npos || at + 2 >= text.size() || text[at + 2] == 'Z' || text[at + 2] == 'X';
}

[[noreturn]] void throw_seize_error(pid_t pid, int error) {
  const char* advice = error == EPERM ? ": it is another user's, or traced already (TracerPid in /proc/PID/status), or kernel.yama.ptrace_scope "
                                        "forbids it: run simrun as root"
                                      : "";
  throw UserError(fmt::format("cannot attach to process {}: {}{}", pid, std::strerror(error), advice));
}

[[noreturn]] void throw_vanished(pid_t pid) {
  throw UserError(fmt::format("cannot attach to process {}: it has ended or executed a program meanwhile", pid));
}

// Calls that return EINTR after any stop, even though no handler ran (signal(7), "Interruption of system calls by stop signals").
bool ends_at_stops(long number) {
  switch (number) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_io_uring_enter:
    // Of a socket with a time-out (SO_RCVTIMEO, SO_SNDTIMEO).
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_read:
    case SYS_readv:
    case SYS_connect:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_write:
    case SYS_writev: return true;
    default: return false;
  }
}

}  // namespace

std::vector<pid_t> living_threads(pid_t pid) {
  std::vector<pid_t> result;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(fmt::format("/proc/{}/task", pid).c_str()), &closedir);
  if (!folder) return result;
  while (const dirent* entry = readdir(folder.get())) {
    const auto tid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (tid != 0 && !has_ended(pid, tid)) result.push_back(tid);
  }
  std::sort(result.begin(), result.end(), [&](pid_t a, pid_t b) { return std::pair(a != pid, a) < std::pair(b != pid, b); });
  return result;
}

namespace {

void reap(const std::set<pid_t>& held) {
  for (const pid_t tid : held) {
    // Looked at first: a tracer is told of stops whatever it asks for (kernel/exit.c, wait_task_stopped).
    siginfo_t info{};
    const int looked = waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
    const bool has_ended = looked == 0 && info.si_pid != 0 && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED;
    if (has_ended) waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WNOHANG | __WALL);
  }
}

bool is_before_call(pid_t tid, const FileDescriptor& memory) {
  constexpr uint16_t kSyscall = 0x050f, kInt80 = 0x80cd;
  user_regs_struct r{};
  uint16_t code = 0;
  return ptrace(PTRACE_GETREGS, tid, nullptr, &r) == 0 && pread(memory.get(), &code, sizeof code, static_cast<off_t>(r.rip)) == sizeof code &&
         (code == kSyscall || code == kInt80);
}

}  // namespace

Reaper::~Reaper() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Reaper::add(pid_t tid) {
  const std::lock_guard lock(mutex_);
  held_.insert(tid);
}

void Reaper::let_go(pid_t tid, int signal) {
  siginfo_t info{};
  if (ptrace(PTRACE_DETACH, tid, nullptr, signal) == 0) return;
  int waited = 0;
  while (waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && ++waited < kPatienceMilliseconds) usleep(1000);
}

void Reaper::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(5), [&] { return done_; })) reap(held_);
}

bool seize_thread(pid_t tid) { return ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) == 0; }

bool restart_call(user_regs_struct& r) {
  // ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND; ERESTART_RESTARTBLOCK (include/linux/errno.h)
  constexpr long kSystem = -512, kNoInterrupt = -513, kNoHandler = -514, kBlock = -516;
  const auto number = static_cast<long>(r.orig_rax), result = static_cast<long>(r.rax);
  r.orig_rax = ~0ull;
  if (number < 0) return false;
  const bool again = result == kSystem || result == kNoInterrupt || result == kNoHandler || (result == -EINTR && ends_at_stops(number));
  if (!again && result != kBlock) return false;
  r.rax = static_cast<uint64_t>(again ? number : SYS_restart_syscall);
  r.rip -= 2;
  return true;
}

bool is_about_to_handle(pid_t tid) {
  std::ifstream status(fmt::format("/proc/{}/status", tid));
  std::map<std::string, uint64_t> sets;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("S") && line.find(':') == 6) sets[line.substr(0, 6)] = std::strtoull(line.c_str() + 7, nullptr, 16);
  return ((sets["SigPnd"] | sets["ShdPnd"]) & ~sets["SigBlk"] & sets["SigCgt"]) != 0;
}

// By way of another constructor, so that the destructor lets go what is held when this one throws.
StoppedThreads::StoppedThreads(pid_t pid) : StoppedThreads() {
  pid_ = pid;
  while (stop_new_ones()) continue;
  if (all_.empty()) throw UserError(fmt::format("cannot attach to process {}: it has ended", pid));
  for (const pid_t tid : all_) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(tid), &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) throw_vanished(pid);
  }
}

StoppedThreads::~StoppedThreads() {
  for (const pid_t tid : held_) {
    // The kernel makes interrupted calls again by itself, but for these.
    user_regs_struct r{};
    const bool known = ptrace(PTRACE_GETREGS, tid, nullptr, &r) == 0;
    const bool ended = known && static_cast<long>(r.orig_rax) >= 0 && static_cast<long>(r.rax) == -EINTR && !is_about_to_handle(tid);
    if (ended && restart_call(r)) ptrace(PTRACE_SETREGS, tid, nullptr, &r);
    if (std::find(all_.begin(), all_.end(), tid) != all_.end()) reaper_.let_go(tid);
    else ptrace(PTRACE_DETACH, tid, nullptr, nullptr);   // in vain unless it has stopped meanwhile
  }
}

void StoppedThreads::begin_calls_again() {
  for (const pid_t tid : held_) {
    user_regs_struct r{};
    if (ptrace(PTRACE_GETREGS, tid, nullptr, &r) != 0 || (tid != all_[0] && is_about_to_handle(tid))) continue;
    const uint64_t call = r.orig_rax;
    if (!restart_call(r)) continue;
    r.rax = call;
    ptrace(PTRACE_SETREGS, tid, nullptr, &r);
  }
}

void StoppedThreads::enter_calls() {
  const FileDescriptor memory(open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<pid_t> entering;
  for (const pid_t tid : held_)
    if (is_before_call(tid, memory) && ptrace(PTRACE_SYSCALL, tid, nullptr, nullptr) == 0) entering.push_back(tid);
  int waited = 0;
  for (const pid_t tid : entering) {
    int status = 0;
    pid_t who = 0;
    while ((who = waitpid(tid, &status, __WALL | WNOHANG)) == 0 && ++waited < kPatienceMilliseconds) usleep(1000);
    if (who == tid && WIFSTOPPED(status)) {
      if (status >> 16 != 0) continue;   // stopped, as others are
      if (WSTOPSIG(status) & 0x80) ptrace(PTRACE_CONT, tid, nullptr, nullptr);
      else reaper_.let_go(tid, WSTOPSIG(status));
    }
    held_.erase(tid);
  }
}

// All are interrupted before one is waited for: each needs a processor in order to stop, which those that are not interrupted go on using
// (a hundred busy threads on two loaded processors: 14 s instead of 1.6). False: there is no new one. When one cannot be
// stopped the others have been waited for all the same: what is held can be let go.
bool StoppedThreads::stop_new_ones() {
  std::vector<pid_t> interrupted;
  std::exception_ptr failure;
  try {
    for (const pid_t tid : living_threads(pid_))
      if (!held_.contains(tid) && seize(tid)) interrupted.push_back(tid);
  } catch (const UserError&) {
    failure = std::current_exception();
  }
  bool found = false;
  for (const pid_t tid : interrupted) {
    try {
      if (!wait_until_stopped(tid)) continue;
      all_.push_back(tid);
      found = true;
    } catch (const UserError&) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return found;
}

// False: it ended meanwhile.
bool StoppedThreads::seize(pid_t tid) {
  if (!seize_thread(tid)) {
    const int error = errno;
    if (error == ESRCH || has_ended(pid_, tid)) return false;
    if (tid == pid_ && ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0) throw_vanished(pid_);   // one of ours took its number
    throw_seize_error(pid_, error);
  }
  held_.insert(tid);
  reaper_.add(tid);
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  return true;
}

// False: it ended meanwhile, and is not held any more.
bool StoppedThreads::wait_until_stopped(pid_t tid) {
  for (int waited = 0; waited < kPatienceMilliseconds;) {
    int status = 0;
    const pid_t who = waitpid(tid, &status, __WALL | WNOHANG);
    if (who < 0 || (who == tid && !WIFSTOPPED(status))) {
      held_.erase(tid);
      return false;
    }
    if (who == 0) {
      usleep(1000);
      ++waited;
      continue;
    }
    const int signal = WSTOPSIG(status);
    if (status >> 16 == PTRACE_EVENT_STOP) {
      if (signal == SIGTRAP) return true;
      throw UserError(fmt::format("cannot attach to process {}: it is stopped; send it SIGCONT first", pid_));
    }
    // On its way to a handler: there the interruption finds it.
    ptrace(PTRACE_CONT, tid, nullptr, signal & 0x80 ? 0 : signal);
  }
  throw UserError(fmt::format("cannot attach to process {}: its thread {} does not stop (see its state in /proc/{}/task/{}/stat)", pid_, tid, pid_,
                              tid));
}

}  // namespace simrun::host
