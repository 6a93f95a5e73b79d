#include "instr/host/family.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/user_error.h"
#include "instr/host/attach.h"
#include "instr/host/attacher.h"
#include "instr/host/elf_file.h"
#include "instr/host/remote_process.h"
#include "instr/host/resource_limits.h"
#include "instr/host/stream_discarder.h"
#include "instr/host/tracers.h"

namespace simrun::host {
namespace {

using border::FollowKind;
using border::FollowRequest;
using border::FollowState;

constexpr int kWatchOptions = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
constexpr int kThroughOptions = kWatchOptions | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT;
constexpr int64_t kMissingMilliseconds = 5000, kLostMilliseconds = 1000;

int64_t now_milliseconds() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// Ended, reaped or not.
bool is_gone(pid_t pid) {
  const FileDescriptor file(open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t n = file ? read(file.get(), text, sizeof text - 1) : -1;
  if (n <= 0) return file || errno == ENOENT || errno == ESRCH;   // not when no descriptor is left
  text[n] = 0;
  const char* state = std::strrchr(text, ')');
  return state == nullptr || state[2] == 'Z' || state[2] == 'X';
}

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

// Words of its command line with spaces between them.
std::string command_line_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && text.back() == 0) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

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

}  // namespace

Family::Family(LaunchOptions options) : options_(std::move(options)) {
  Launched first = launch(options_);
  main_pid_ = first.pid;
  main_status_file_ = FileDescriptor(open(fmt::format("/proc/{}/status", main_pid_).c_str(), O_RDONLY | O_CLOEXEC));
  warnings_ = first.warnings;
  std::vector<border::MappedFile> files = std::move(first.files);
  add(std::make_unique<Target>(std::move(first)), {}, std::move(files));
  admit(main_);
  main_header_ = &(*this)[main_].header();
}

Family::Family(LaunchOptions options, const std::vector<pid_t>& processes, Guardian* guardian) : options_(std::move(options)), attached_(true) {
  for (const pid_t pid : processes) check_process(pid);
  options_.has_company = processes.size() > 1;
  try {
    for (const pid_t pid : processes) {
      FileDescriptor process = open_process(pid);
      TakenOver taken = attach_apart(pid, options_, guardian);
      add(std::make_unique<Target>(pid, std::move(taken.mapping), Target::Relation::kStranger, std::move(process)), {}, std::move(taken.files));
      admit(arrived() - 1);
    }
  } catch (const std::exception& error) {
    if (members_.empty()) throw;
    leave_unread();
    std::string what = error.what();
    for (const std::string& stuck : stuck_) what += "; " + stuck;
    throw UserError(what);
  }
}

Family::~Family() {
  if (leaver_.joinable()) leaver_.join();
  for (Departure& d : departures_)
    if (d.thread.joinable()) d.thread.join();
  for (const Watched& w : watched_) ptrace(PTRACE_DETACH, w.tid, nullptr, nullptr);   // in vain unless stopped: then our end does it
}

// It waits for us, so it is there.
void Family::add(std::unique_ptr<Target> target, const Birth& birth, std::vector<border::MappedFile> files) {
  std::string command = command_line_of(target->pid());
  if (command.empty() && birth.is_copy) command = members_[birth.parent].command;   // killed
  members_.push_back({std::move(target), birth, std::move(files), std::move(command)});
  main_is_first_ = members_.size() == 1;
  if (birth.kind == Birth::Kind::kForked && birth.token != 0) children_[{birth.parent, birth.token}] = ChildState::kFollowed;
}

void Family::leave(Target& target) {
  if (leave_native(target)) return;
  stuck_.push_back(fmt::format("process {} could not be detached from: it goes on in the engine, and nobody reads what it does", target.pid()));
}

// All are served at once: one may wait for what another does.
void Family::leave_unread() {
  std::vector<std::unique_ptr<StreamDiscarder>> discarders;
  for (Member& m : members_) discarders.push_back(std::make_unique<StreamDiscarder>(*m.target));
  for (Member& m : members_) leave(*m.target);
}

uint32_t Family::missing_threads(Member& m) {
  const bool was_there = m.target != nullptr && m.birth.kind == Birth::Kind::kLaunched;
  return was_there && m.target->running() ? threads_to_begin(*m.target) : 0;
}

bool Family::several_run() {
  int running = 0;
  return std::any_of(members_.rbegin(), members_.rend(), [&](const Member& m) { return m.target != nullptr && m.target->running() && ++running > 1; });
}

bool Family::all_have_begun() {
  return std::all_of(members_.begin(), members_.end(), [](Member& m) { return missing_threads(m) == 0; });
}

void Family::start_leaving() {
  if (leaving_) return;
  leaving_ = true;
  stop_following();
  std::vector<Target*> running;
  for (Member& m : members_) {
    if (m.target == nullptr || !m.target->running()) continue;
    running.push_back(m.target.get());
    if (const uint32_t missing = missing_threads(m); missing != 0)
      warnings_.push_back(fmt::format("process {}: {} of the {} threads that were there had got no processor when it was left: nothing of them is simulated",
                                      m.target->pid(), missing, m.target->header().attached_threads));
  }
  leaver_ = std::thread([this, running] {
    for (Target* target : running) leave(*target);
    left_ = true;
  });
}

namespace {

// By process: its parent.
std::map<pid_t, pid_t> all_parents() {
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", std::filesystem::directory_options::skip_permission_denied)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(')');   // then " S 123"
    if (name_end != std::string::npos && name_end + 4 < text.size())
      parents[static_cast<pid_t>(std::atoi(name.c_str()))] = static_cast<pid_t>(std::atoi(text.c_str() + name_end + 4));
  }
  return parents;
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

// A child that was just made is known to nobody but the kernel. So all are stopped first, until there is no new one.
void Family::end_all() {
  ending_all_ = true;
  stop_following();
  std::set<pid_t> doomed;
  for (Member& m : members_)
    if (m.target != nullptr && m.target->running()) doomed.insert(m.target->pid());
  for (const Watched& w : watched_) doomed.insert(w.pid);
  if (!main_ended_ && !attached_) doomed.insert(main_pid_);
  for (const pid_t pid : doomed) kill(pid, SIGSTOP);
  for (bool found = true; found;) {
    found = false;
    for (const auto& [pid, parent] : all_parents())
      if (doomed.contains(parent) && doomed.insert(pid).second) {
        kill(pid, SIGSTOP);
        found = true;
      }
  }
  for (const pid_t pid : doomed) kill(pid, SIGKILL);
}

bool Family::any_is_in_engine() {
  if (leaver_.joinable() && !left_) return true;
  for (Member& m : members_) {
    if (m.target == nullptr || !m.target->running() || m.target->header().engine_state >= 2) continue;
    const border::ProcessHeader& h = m.target->header();
    if (h.leaving != static_cast<uint32_t>(border::Leaving::kGone)) {
      if (!left_ || h.leaving != static_cast<uint32_t>(border::Leaving::kNo)) return true;
      continue;   // it stays
    }
    if (has_threads(*m.target)) return true;
  }
  return false;
}

void Family::poll() {
  for (uint32_t i = 0; i < members_.size(); ++i) {
    if (members_[i].target == nullptr) continue;
    border::ProcessHeader& h = members_[i].target->header();
    if (h.requests_posted.load(std::memory_order_relaxed) == 0) continue;
    h.requests_posted.store(0, std::memory_order_seq_cst);   // before looking: a request that comes now is counted again
    for (FollowRequest& r : h.requests) {
      if (r.state.load(std::memory_order_seq_cst) != static_cast<uint32_t>(FollowState::kPosted)) continue;
      const auto pid = static_cast<pid_t>(r.pid);
      answer(i, r);
      answered_[{i, static_cast<size_t>(&r - h.requests)}] = {pid, now_milliseconds()};
    }
  }
  take_back_requests();
  finish_departures();
  std::erase_if(watched_, [this](Watched& w) {
    if (handle_stops(w)) return false;
    if (w.through) birth_of_lost_ = w.birth, look_for_lost_until_ = now_milliseconds() + kLostMilliseconds;
    return true;
  });
  find_lost();
  watched_.insert(watched_.end(), found_.begin(), found_.end());
  found_.clear();
}

void Family::find_lost() {
  if (now_milliseconds() >= look_for_lost_until_) return;
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid == 0) return;
  const pid_t tid = info.si_pid;
  const bool known = std::ranges::any_of(watched_, [&](const Watched& w) { return w.tid == tid || w.pid == tid; });
  if (!known && tid != main_pid_ && is_traced_by_us(tid)) found_.push_back({tid, tid, birth_of_lost_, true});
}

// Only when it has had time enough: of another namespace's process nobody here knows whether it is there.
void Family::take_back_requests() {
  constexpr int64_t kEnough = 1000;
  std::erase_if(answered_, [&](const auto& entry) {
    const auto& [place, a] = entry;
    if (members_[place.first].target == nullptr) return true;
    std::atomic<uint32_t>& state = members_[place.first].target->header().requests[place.second].state;
    uint32_t value = state.load(std::memory_order_seq_cst);
    if (value != static_cast<uint32_t>(FollowState::kGranted) && value != static_cast<uint32_t>(FollowState::kRefused)) return true;
    if (now_milliseconds() - a.since < kEnough || kill(a.pid, 0) == 0 || errno != ESRCH) return false;
    state.compare_exchange_strong(value, static_cast<uint32_t>(FollowState::kFree));
    return true;
  });
}

void Family::answer(uint32_t parent, FollowRequest& r) {
  const auto pid = static_cast<pid_t>(r.pid), tid = static_cast<pid_t>(r.tid);
  if (closed_ && r.kind != FollowKind::kExecFailed && r.kind != FollowKind::kTraced) {
    if (r.token != 0) children_[{parent, r.token}] = ChildState::kNative;
    return reply(r, false);
  }
  // Given up already (child()): the order went on without it, and nobody would read its streams.
  if (const auto known = children_.find({parent, r.token}); r.token != 0 && r.kind != FollowKind::kTraced && known != children_.end() && known->second == ChildState::kNative)
    return reply(r, false);
  switch (r.kind) {
    case FollowKind::kForked: {
      const bool followed = follow_forked(parent, r);
      if (!followed) children_[{parent, r.token}] = ChildState::kNative;
      return reply(r, followed);
    }
    case FollowKind::kVforked: {
      const bool watched = watch_vforked(pid, tid, {Birth::Kind::kForked, parent, r.token, 0});
      children_[{parent, r.token}] = watched ? ChildState::kPending : ChildState::kNative;
      return reply(r, watched);
    }
    case FollowKind::kExec: return reply(r, watch(pid, tid, {Birth::Kind::kExecuted, parent, 0, 0}));
    case FollowKind::kExecFailed: unwatch_failed_exec(tid); return reply(r, true);
    case FollowKind::kTraced: return let_go(parent, r);
  }
  reply(r, false);
}

bool Family::follow_forked(uint32_t parent, const FollowRequest& r) {
  const auto pid = static_cast<pid_t>(r.pid);
  FileDescriptor file(open(fmt::format("/proc/{}/fd/{}", r.pid, r.descriptor).c_str(), O_RDWR | O_CLOEXEC));
  if (!file && (errno == EMFILE || errno == ENFILE))
    warnings_.push_back(fmt::format("child process {} is not followed: its memory cannot be opened ({})", pid, std::strerror(errno)));
  struct stat s{};
  const uint64_t bytes = members_[parent].target->header().mapping_bytes;
  if (!file || fstat(file.get(), &s) != 0 || static_cast<uint64_t>(s.st_size) != bytes) return false;
  FileDescriptor process;
  try {
    make_room(0, RLIMIT_AS, bytes);
    process = open_process(pid);
  } catch (const UserError& error) {
    warnings_.push_back(fmt::format("child process {} is not followed: {}", pid, error.what()));
    return false;
  }
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (at == MAP_FAILED) return false;
  LocalMapping mapping(at, bytes, std::move(file));
  if (mapping.header().magic != border::kMagic || mapping.header().slots_used == 0) return false;
  const uint32_t slot = mapping.header().slots_used - 1;
  add(std::make_unique<Target>(pid, std::move(mapping), Target::Relation::kStranger, std::move(process)),
      {Birth::Kind::kForked, parent, r.token, slot, true});
  return true;
}

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

Family::ChildState Family::child(uint32_t parent, uint64_t token, pid_t pid) {
  const std::pair place{numbered_[parent].member, token};
  const auto known = children_.find(place);
  if (known != children_.end()) {
    missing_since_.erase(pid);
    // When nothing is followed any more, a child that is still on its way to a program goes on natively; nobody waits for it.
    if (closed_ && known->second == ChildState::kPending) known->second = ChildState::kNative;
    return known->second;
  }
  const auto [since, first] = missing_since_.try_emplace(pid, now_milliseconds());
  if (!first && (is_gone(pid) || now_milliseconds() - since->second > kMissingMilliseconds)) {
    poll();   // it may have asked just before its end
    if (!children_.contains(place)) children_[place] = ChildState::kNative;
  }
  return ChildState::kPending;
}

bool Family::main_runs() {
  if (main_ended_) return false;
  if (attached_) {
    if (any_is_in_engine()) return true;
    if (leaver_.joinable()) leaver_.join();
    warnings_.insert(warnings_.end(), stuck_.begin(), stuck_.end());
    main_ended_ = true;
    return false;
  }
  Target* main = members_[main_].target.get();
  if (main != nullptr && main->running()) return true;
  main_ended_ = true;
  if (main != nullptr) main_status_ = main->wait_status();
  return false;
}

}  // namespace simrun::host
