#include "instr/host/tracers.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "instr/host/attach.h"
#include "instr/host/elf_file.h"
#include "instr/host/family.h"

namespace simrun::host {

using border::FollowRequest;
using border::FollowState;

void reply(FollowRequest& request, bool granted) {
  request.state.store(static_cast<uint32_t>(granted ? FollowState::kGranted : FollowState::kRefused), std::memory_order_seq_cst);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&request.state), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

namespace {

// A line of /proc/TID/status; empty: there is none.
std::string status_line(pid_t tid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/status", tid));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "";
}

// Whether the file names the call anywhere: a symbol, or a part of a name as Go's functions have it. One without a dynamic loader may make it
// without a name.
bool names_ptrace(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat s{};
  if (!file || fstat(file.get(), &s) != 0 || s.st_size == 0) return false;
  if (ElfFile elf; read_elf(file.get(), elf) && elf.interpreter.empty()) return true;
  const auto bytes = static_cast<size_t>(s.st_size);
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (at == MAP_FAILED) return false;
  constexpr std::string_view kName = "trace", kBefore = "pP";
  bool found = false;
  for (const char *from = static_cast<const char*>(at), *const end = from + bytes; !found && from < end;) {
    const auto* const name = static_cast<const char*>(memmem(from, static_cast<size_t>(end - from), kName.data(), kName.size()));
    if (name == nullptr) break;
    found = name > at && kBefore.find(name[-1]) != kBefore.npos;
    from = name + 1;
  }
  munmap(at, bytes);
  return found;
}

}  // namespace

bool is_traced_by_us(pid_t tid) { return status_line(tid, "TracerPid") == std::to_string(gettid()); }

bool is_traced(pid_t tid) {
  const std::string tracer = status_line(tid, "TracerPid");
  return !tracer.empty() && tracer != "0";
}

bool asks_to_be_traced(pid_t tid) {
  __ptrace_syscall_info info{};
  const auto size = reinterpret_cast<void*>(sizeof info);
  return ptrace(PTRACE_GET_SYSCALL_INFO, tid, size, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY &&
         info.entry.nr == SYS_ptrace && info.entry.args[0] == PTRACE_TRACEME;
}

bool executes_privileged(pid_t tid) {
  __ptrace_syscall_info info{};
  const auto size = reinterpret_cast<void*>(sizeof info);
  if (geteuid() == 0 || ptrace(PTRACE_GET_SYSCALL_INFO, tid, size, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
  const bool at = info.entry.nr == SYS_execveat;
  if (!at && info.entry.nr != SYS_execve) return false;
  const FileDescriptor memory(open(fmt::format("/proc/{}/mem", tid).c_str(), O_RDONLY | O_CLOEXEC));
  char path[PATH_MAX];
  path[std::max<ssize_t>(pread(memory.get(), path, sizeof path - 1, static_cast<off_t>(info.entry.args[at ? 1 : 0])), 0)] = 0;
  const auto directory = at ? static_cast<int>(info.entry.args[0]) : AT_FDCWD;
  const std::string base = directory == AT_FDCWD ? fmt::format("/proc/{}/cwd", tid) : fmt::format("/proc/{}/fd/{}", tid, directory);
  const std::string file = path[0] == '/' ? fmt::format("/proc/{}/root{}", tid, path) : path[0] == 0 ? base : base + "/" + path;
  struct stat s;
  if (stat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return false;
  const bool sets_group = (s.st_mode & S_ISGID) != 0 && (s.st_mode & S_IXGRP) != 0;
  return (s.st_mode & S_ISUID) != 0 || sets_group || getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

// A call that its program does not name (a library does, or syscall(2)) is not expected.
bool Family::may_trace(Member& member) {
  if (!member.may_trace) member.may_trace = names_ptrace(fmt::format("/proc/{}/exe", member.target->pid()));
  return *member.may_trace;
}

// At the request that stays posted.
void Family::look_again(uint32_t asker) { members_[asker].target->header().requests_posted.fetch_add(1); }

// A child of the asker's own that is alive and has not yet asked to be followed.
bool Family::is_young(uint32_t asker, const FollowRequest& r) const {
  const std::string state = status_line(static_cast<pid_t>(r.token), "State");
  return r.descriptor != 0 && !children_.contains({asker, r.descriptor}) && (state.starts_with("R") || state.starts_with("S") || state.starts_with("D"));
}

// A process that asks for itself is answered at once and leaves before its next instruction; another one has left when the answer comes.
// Stopped ones stay, and the program that was launched, whose end is waited for here.
void Family::let_go(uint32_t asker, FollowRequest& r) {
  const auto tid = static_cast<pid_t>(r.token);
  const pid_t pid = std::atoi(status_line(tid, "Tgid").c_str());
  const auto leaves = std::find_if(departures_.begin(), departures_.end(), [&](const Departure& d) {
    return members_[d.member].target != nullptr && members_[d.member].target->pid() == pid;
  });
  if (leaves != departures_.end()) {
    if (leaves->member == asker) return reply(r, true);
    // Answered when it has left: until then simrun is its tracer.
    if (leaves->request != &r) look_again(asker);
    return;
  }
  const auto m = std::find_if(members_.begin(), members_.end(), [&](const Member& x) {
    return x.target != nullptr && x.target->pid() == pid && x.target->running() && x.target->header().engine_state < 2 &&
           x.target->header().leaving != static_cast<uint32_t>(border::Leaving::kGone);   // it has left for a tracer before
  });
  if (pid > 0 && m == members_.end() && is_young(asker, r)) {
    look_again(asker);
    return;
  }
  if (pid <= 0 || m == members_.end() || stays_.contains(pid) || status_line(tid, "State").starts_with("T")) return reply(r, false);
  const auto index = static_cast<uint32_t>(m - members_.begin());
  if (!attached_ && index == main_) return reply(r, false);
  const bool itself = index == asker;
  if (leaving_) return reply(r, itself);
  Target* const target = m->target.get();
  target->header().leaving = static_cast<uint32_t>(border::Leaving::kPark);
  auto left = std::make_unique<std::atomic<int>>(0);
  std::thread thread([target, itself, done = left.get()] {
    // When it traces itself, its tracer takes it from there.
    *done = (itself ? detach(*target) : leave_native(*target)) ? 1 : -1;
  });
  departures_.push_back({index, asker, itself ? nullptr : &r, std::move(left), std::move(thread)});
  if (itself) reply(r, true);
}

void Family::finish_departures() {
  std::erase_if(departures_, [this](Departure& d) {
    const int left = *d.left;
    if (left == 0) return false;
    if (d.thread.joinable()) d.thread.join();
    if (left > 0)
      ++native_images_;
    else if (members_[d.member].target != nullptr)
      stays_.insert(members_[d.member].target->pid());
    if (d.request != nullptr && members_[d.asker].target != nullptr) reply(*d.request, left > 0);
    return true;
  });
}

}  // namespace simrun::host
