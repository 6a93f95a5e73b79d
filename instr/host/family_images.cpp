// Images on their way: what a followed process is about to execute, watched by ptrace until its exec, when its engine goes in.
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "base/user_error.h"
#include "instr/host/attach.h"
#include "instr/host/elf_file.h"
#include "instr/host/family.h"
#include "instr/host/remote_process.h"
#include "instr/host/resource_limits.h"
#include "instr/host/tracers.h"

namespace simrun::host {
namespace {

constexpr int kWatchOptions = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
constexpr int kThroughOptions = kWatchOptions | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT;

// The same, where one that has been killed may take a moment to die.
bool is_going(pid_t pid) {
  constexpr int kMoments = 20;
  for (int k = 0; k < kMoments; ++k) {
    if (is_gone(pid)) return true;
    usleep(1000);
  }
  return false;
}

std::string link_of(const std::string& path) {
  char text[4096];
  const ssize_t n = readlink(path.c_str(), text, sizeof text);
  return std::string(text, n > 0 ? static_cast<size_t>(n) : 0);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The file that the kernel was told to execute: a script's own name, not that of its interpreter (AT_EXECFN). Empty: not known.
std::string executed_file(pid_t pid) {
  const FileDescriptor auxv(open(fmt::format("/proc/{}/auxv", pid).c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor memory(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!auxv || !memory) return "";
  for (uint64_t entry[2]; read(auxv.get(), entry, sizeof entry) == sizeof entry && entry[0] != AT_NULL;) {
    if (entry[0] != AT_EXECFN) continue;
    char text[4096];
    const ssize_t n = pread(memory.get(), text, sizeof text - 1, static_cast<off_t>(entry[1]));
    text[n > 0 ? n : 0] = 0;
    return text;
  }
  return "";
}

// kNotElf: cannot be read; of one that has been killed, for example.
ElfKind kind_of_image(pid_t pid) {
  const FileDescriptor file(open(fmt::format("/proc/{}/exe", pid).c_str(), O_RDONLY | O_CLOEXEC));
  ElfFile elf;
  return file && read_elf(file.get(), elf) ? elf.kind : ElfKind::kNotElf;
}

// A thread that we trace: the status of its stop (a signal, with a ptrace event above it), or nothing when it has ended. The end of the
// launched process is left for who waits for it.
std::optional<int> wait_for_stop(pid_t pid, bool keeps_end) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) != 0)
    if (errno != EINTR) return std::nullopt;
  const bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
  if (stopped || !keeps_end) waitid(P_PID, static_cast<id_t>(pid), &info, (stopped ? WSTOPPED : WEXITED) | WNOHANG | __WALL);
  return stopped ? std::optional(info.si_status) : std::nullopt;
}

// Of a thread that has executed a program in a process of its own, and left memory that it shared (CLONE_VM): nothing more comes.
void end_stream(Target& target, pid_t tid) {
  using border::ThreadState;
  const border::ProcessHeader& h = target.header();
  for (uint32_t k = 0; k < h.slots_used; ++k) {
    auto& ring = target.slot(k).ring;
    if (ring.state.load() == static_cast<uint32_t>(ThreadState::kFree) || ring.tid.load() != static_cast<uint32_t>(tid)) continue;
    ring.state.store(static_cast<uint32_t>(h.mode == border::Mode::kNull ? ThreadState::kFree : ThreadState::kDead));
  }
}

// What a process that executes a program had executed of its interval: the image goes on with it. One with threads or children reports more
// often instead.
uint64_t begun_interval(const Target& before, uint64_t interval) {
  const border::ProcessHeader& h = before.header();
  const bool alone = h.slots_used.load() <= 1 && h.last_token.load() == 0;
  return interval == 0 || !alone ? 0 : (h.count_done + before.slot(0).retired.load()) % interval;
}

}  // namespace

bool Family::watch(pid_t pid, pid_t tid, const Birth& birth, int further_options) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, kWatchOptions | further_options) != 0) {
    const int error = errno;
    if (error == ESRCH || (error == EPERM && is_going(pid))) return false;   // killed meanwhile
    if (is_traced(tid))   // by the program: its affair
      ++native_images_;
    else
      warnings_.push_back(fmt::format("process {} is not followed: it cannot be traced ({})", pid, std::strerror(error)));
    return false;
  }
  watched_.push_back({pid, tid, birth, false});
  return true;
}

// It may ask its parent to trace it, which cannot be as long as we do, or execute a program that gets no privileges as long as we do. When it ends,
// who waits for it by a pidfd would hear of that before it can be waited for, were it traced still.
bool Family::watch_vforked(pid_t pid, pid_t tid, const Birth& birth) {
  if (!watch(pid, tid, birth, PTRACE_O_TRACEEXIT)) return false;
  if (!may_trace(members_[birth.parent]) && geteuid() == 0) return true;
  watched_.back().by_call = true;
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  return true;
}

void Family::unwatch_failed_exec(pid_t tid) {
  const auto w = std::find_if(watched_.begin(), watched_.end(), [&](const Watched& x) { return x.tid == tid; });
  if (w == watched_.end()) return;
  set_aside(*w);
  ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  // Whichever stop comes: another one than was asked for (a signal, a call of one that is watched by_call) takes its place.
  while (const std::optional<int> status = wait_for_stop(tid, tid == main_pid_)) {
    const int event = *status >> 8, signal = *status & 0xff;
    if (ptrace(PTRACE_DETACH, tid, nullptr, event || signal & 0x80 ? 0 : signal) == 0) break;   // else it has been killed
  }
  watched_.erase(w);
}

// Stops only for our own child, whose end main_runs() waits for.
bool Family::handle_stops(Watched& w) {
  for (const pid_t who : {w.tid, w.pid}) {
    for (;;) {
      siginfo_t info{};
      const int kinds = WSTOPPED | WNOHANG | __WALL | (who == main_pid_ ? 0 : WEXITED);
      const int result = waitid(P_PID, static_cast<id_t>(who), &info, kinds);
      if (result != 0 && errno == ECHILD && w.tid == w.pid && who != main_pid_) {   // it has been waited for already
        set_aside(w);
        return false;
      }
      if (result != 0 || info.si_pid == 0) break;
      const bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
      if (!stopped) {
        if (who == w.tid) {
          set_aside(w);
          return false;
        }
        continue;
      }
      if (!handle_stop(w, who, info.si_status)) return false;
    }
    if (w.tid == w.pid) break;
  }
  if (w.tid == main_pid_ && !main_runs()) {
    set_aside(w);
    return false;
  }
  return true;
}

// `status`: a signal, with a ptrace event above it.
bool Family::handle_stop(Watched& w, pid_t who, int status) {
  const int event = status >> 8, signal = status & 0xff;
  const auto go_on = w.by_call ? PTRACE_SYSCALL : PTRACE_CONT;
  if (event == PTRACE_EVENT_EXEC) return take_image(w);
  if (event == PTRACE_EVENT_EXIT) {
    if (ptrace(PTRACE_DETACH, who, nullptr, nullptr) != 0 || who != w.tid) return true;
    set_aside(w);
    return false;
  }
  if (event == PTRACE_EVENT_STOP) {
    const bool group_stop = signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
    ptrace(group_stop ? PTRACE_LISTEN : go_on, who, nullptr, nullptr);
  } else if (event != 0) {
    unsigned long child = 0;
    if (w.through && ptrace(PTRACE_GETEVENTMSG, who, nullptr, &child) == 0)
      found_.push_back({static_cast<pid_t>(child), static_cast<pid_t>(child), w.birth, true});
    ptrace(go_on, who, nullptr, nullptr);
  } else if (w.by_call && signal & 0x80 && (asks_to_be_traced(who) || executes_privileged(who))) {
    if (ptrace(PTRACE_DETACH, who, nullptr, nullptr) != 0) return true;   // killed: watched until its end
    set_aside(w);
    ++native_images_;
    return false;
  } else {
    ptrace(go_on, who, nullptr, signal & 0x80 ? 0 : signal);
  }
  return true;
}

// In its exec stop: the engine goes in, or it goes on without.
bool Family::take_image(Watched& w) {
  const pid_t pid = w.pid;
  Birth birth = w.birth;
  const bool replaces = birth.kind == Birth::Kind::kExecuted && !w.through;
  const Target* const executor = members_[birth.parent].target.get();
  Target* before = replaces ? members_[birth.parent].target.get() : nullptr;
  const bool was_main = pid == main_pid_;
  bool taken = false;
  const bool wanted = !closed_ && matches(pid);
  const ElfKind kind = wanted ? kind_of_image(pid) : ElfKind::kNotElf;
  if (wanted && kind != ElfKind::kX8664) {
    if (kind == ElfKind::k32Bit)
      warnings_.push_back(fmt::format("process {} executed a 32-bit program ({}), which runs natively", pid,
                                      link_of(fmt::format("/proc/{}/exe", pid))));
    else if (!has_been_killed(pid))
      warnings_.push_back(fmt::format("process {} is not followed: its program cannot be read", pid));
  } else if (wanted) {
    // Not of the launched program: its end is ours to wait for.
    ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL | kWatchOptions | (was_main ? 0 : PTRACE_O_TRACEEXIT));
    try {
      LaunchOptions options = options_;
      options.mode_switches.clear();  // they are for the image that was launched
      if (options.mode != border::Mode::kCount) options.count_paths = false;
      options.has_company = several_run();
      if (members_.size() > 1 && options.count_interval_threads != 0) options.count_interval = options.count_interval_threads;
      if (before != nullptr) options.count_done = begun_interval(*before, options.count_interval);
      if (birth.kind == Birth::Kind::kForked && !w.through && executor != nullptr) take_room_back(pid, executor->header());
      FileDescriptor process = was_main ? FileDescriptor() : open_process(pid);
      TakenOver image = take_over_image(pid, options, w.through || executor == nullptr ? nullptr : &executor->header());
      if (w.through) birth = {Birth::Kind::kLaunched, birth.parent, 0, 0};
      if (was_main && before != nullptr) before->replace();
      add(std::make_unique<Target>(pid, std::move(image.mapping), was_main ? Target::Relation::kChild : Target::Relation::kStranger,
                                   std::move(process)),
          birth, std::move(image.files));
      if (was_main) main_ = arrived() - 1, main_header_ = &members_[main_].target->header();
      taken = true;
    } catch (const UserError& error) {
      if (!has_been_killed(pid)) warnings_.push_back(fmt::format("process {} ({}) is not followed: {}", pid, base_name(link_of(fmt::format("/proc/{}/exe", pid))), error.what()));
    }
  }
  if (birth.kind == Birth::Kind::kForked && members_[birth.parent].target != nullptr) end_stream(*members_[birth.parent].target, w.tid);
  if (taken) {
    if (before != nullptr) before->replace();
    return false;
  }
  set_aside(w);
  ++native_images_;
  if (before != nullptr && !was_main) before->replace();
  if (before != nullptr && was_main) before->header().engine_state = 2;
  if (!wanted && !closed_ && options_.follow_children != "*") {
    // Its children may match.
    w.tid = pid;
    w.through = true;
    w.by_call = false;
    ptrace(PTRACE_SETOPTIONS, pid, nullptr, kThroughOptions);
    ptrace(PTRACE_CONT, pid, nullptr, nullptr);
    return true;
  }
  if (ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0 || was_main) return false;
  // Killed while the engine was being put in, and on its way to its end. Its parent cannot wait for it before its tracer has: watched until then.
  w.tid = pid;
  return true;
}

void Family::set_aside(const Watched& w) {
  if (!w.through && w.birth.kind == Birth::Kind::kForked) children_[{w.birth.parent, w.birth.token}] = ChildState::kNative;
}

// A pattern with a slash is for whole paths.
bool Family::matches(pid_t pid) const {
  const std::string& pattern = options_.follow_children;
  if (pattern == "*") return true;
  const bool whole = pattern.find('/') != std::string::npos;
  for (const std::string& path : {link_of(fmt::format("/proc/{}/exe", pid)), executed_file(pid)})
    if (fnmatch(pattern.c_str(), (whole ? path : base_name(path)).c_str(), 0) == 0) return true;
  return false;
}

}  // namespace simrun::host
